import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../core/clock.ts'
import type { SupervisorApi } from '../core/messages.ts'
import type { RecordBody } from '../core/records.ts'
import { parseAgentInput } from '../definitions/parse-agent-input.ts'
import { chooseModel } from '../models/choose-model.ts'
import { createStore } from '../store/create-store.ts'
import { createInlineHost } from '../workers/inline-host.ts'
import { createSupervisor } from './create-supervisor.ts'

const script = 'rules: [{ when: {}, reply: { text: late, delayMs: 60000 } }]'
const session = 'forged' as never

/** A session at work, and what its worker may call. */
async function sessionAtWork() {
  const base = mkdtempSync(join(tmpdir(), 'troupe-forged-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const path = join(base, 'script.yaml')
  writeFileSync(path, script)
  mkdirSync(join(base, 'work'))
  const store = createStore({ dataDir: join(base, 'data'), clock: systemClock, onDamage: () => undefined })
  const model = `scripted:${path}`
  const chosen = await chooseModel({ ref: model, servers: {}, env: {}, rehearsalPath: '' })
  const agent = parseAgentInput({ name: 'worker', description: 'd', prompt: 'p', mode: 'all' })
  let api: SupervisorApi | undefined
  const supervisor = createSupervisor({
    store,
    clock: systemClock,
    settings: {
      permissionMode: 'ask',
      rules: [],
      projectTrusted: true,
      toolset: 'full',
      maxDepth: 1,
      limits: {},
      budget: {},
      prices: {},
    },
    agents: new Map([[agent.name, agent]]),
    skills: [],
    readyModel: async () => ({ spec: chosen.spec, slots: null }),
    permissionMode: 'ask',
    keepAsks: true,
    createHost(wanted) {
      api = wanted.api
      return createInlineHost(wanted)
    },
  })
  onTestFinished(async () => {
    await supervisor.close()
    await store.close()
  })
  supervisor.run({ prompt: 'go', agent, model, dir: join(base, 'work'), session })
  const records = () => store.read({ root: session, session })
  await vi.waitFor(() => expect(records().map(({ type }) => type)).toContain('turn.started'))
  const append = (body: RecordBody) => api!.append({ session, epoch: 1, lastSeq: 0, records: [body] })
  return { supervisor, append, records }
}

const call = 'c1.1' as never
const rule = { key: '*', pattern: '*', action: 'allow', source: 'session' } as const
const ask = { type: 'ask.requested', call, kind: 'shell', title: 't', detail: 'd', key: 'bash', pattern: 'ls' } as const

test.each<[string, RecordBody]>([
  [
    'an answer',
    { type: 'ask.resolved', id: 'forged/c1.1#1' as never, call, answer: { decision: 'always' }, by: 'person' },
  ],
  ['a stored rule', { type: 'grant.added', rule }],
  ['a question of another session', { ...ask, id: 'other/c1.1#1' as never }],
  ['a question of another call', { ...ask, id: 'forged/c9.9#1' as never }],
])('a worker that writes %s is refused, and nothing is recorded', async (_what, body) => {
  const { append, records, supervisor } = await sessionAtWork()
  const before = records().length
  await expect(append(body)).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining(body.type) })
  expect(records()).toHaveLength(before)
  expect(supervisor.asks()).toEqual([])
})

test('a question of its own it may write, and no answer comes of it but from outside', async () => {
  const { append, records, supervisor } = await sessionAtWork()
  await append({ ...ask, id: 'forged/c1.1#1' as never, grant: rule })
  expect(supervisor.asks()).toMatchObject([{ id: 'forged/c1.1#1' }])
  expect(records().filter(({ type }) => type === 'ask.resolved')).toEqual([])
  expect(supervisor.answer('forged/c1.1#1' as never, { decision: 'reject' })).toBe('accepted')
})
