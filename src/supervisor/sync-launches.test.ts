import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../core/clock.ts'
import { parseAgentInput } from '../definitions/parse-agent-input.ts'
import { chooseModel } from '../models/choose-model.ts'
import { createStore, type Store } from '../store/create-store.ts'
import { createInlineHost } from '../workers/inline-host.ts'
import { createSupervisor } from './create-supervisor.ts'

const script = `rules:
  - when: { depth: 0, turn: 1 }
    reply: { calls: [{ tool: task, args: { agent: worker, prompt: go on } }] }
  - when: { depth: 1, turn: 1 }
    reply: { calls: [{ tool: task, args: { agent: worker, prompt: go on } }] }
  - when: { depth: 2, turn: 1 }
    reply: { calls: [{ tool: write, args: { file_path: a.txt, content: a } }, { tool: write, args: { file_path: b.txt, content: b } }] }
  - when: {}
    reply: { text: done }
`

test('before a child acts on the world for the first time, the launches that led to it are on the disk', async () => {
  const base = mkdtempSync(join(tmpdir(), 'troupe-sync-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const scriptPath = join(base, 'script.yaml')
  writeFileSync(scriptPath, script)
  mkdirSync(join(base, 'work'))
  const store = createStore({ dataDir: join(base, 'data'), clock: systemClock, onDamage: () => undefined })
  const synced: string[] = []
  const supervisor = await createTestSupervisor(recordSyncs(store, synced), `scripted:${scriptPath}`)
  const agent = parseAgentInput({ name: 'worker', description: 'd', prompt: 'p', mode: 'all' })
  const run = supervisor.run({
    prompt: 'go',
    agent,
    model: `scripted:${scriptPath}`,
    dir: join(base, 'work'),
    session: 'r',
  })
  expect((await run.finished).status).toBe('done')
  await supervisor.close()
  await store.close()
  // Then its own for the second call, and all three for the end of the run.
  expect(synced.slice(0, 4)).toEqual(['r-wor-1-wor-1', 'r-wor-1', 'r', 'r-wor-1-wor-1'])
})

function recordSyncs(store: Store, synced: string[]): Store {
  return {
    ...store,
    synced(ref) {
      synced.push(ref.session)
      return store.synced(ref)
    },
  }
}

async function createTestSupervisor(store: Store, ref: string) {
  const chosen = await chooseModel({ ref, servers: {}, env: {}, rehearsalPath: '' })
  const agent = parseAgentInput({ name: 'worker', description: 'd', prompt: 'p', mode: 'all' })
  return createSupervisor({
    store,
    clock: systemClock,
    settings: {
      permissionMode: 'allow',
      rules: [{ key: '*', pattern: '*', action: 'allow', source: 'flag' }],
      projectTrusted: true,
      toolset: 'full',
      maxDepth: 2,
      limits: {},
      budget: {},
      prices: {},
    },
    agents: new Map([[agent.name, agent]]),
    skills: [],
    readyModel: async () => ({ spec: chosen.spec, slots: null }),
    permissionMode: 'allow',
    createHost: createInlineHost,
  })
}
