import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { overhear } from './support/overheard.ts'
import { createStage, createWorkplace, type Script } from './support/workplace.ts'

// What a project tells its agents, over a real wire to a model server.

const script: Script = {
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'Look.' } }] },
    },
    {
      when: { agent: 'general', turn: 1 },
      reply: { calls: [{ tool: 'update_memory', args: { content: 'Tests need Node 22.' } }] },
    },
    { when: {}, reply: { text: 'Done.' } },
  ],
}

test('is in the system prompt of every agent, and the same to the end of its session', async () => {
  const workplace = createWorkplace({ 'AGENTS.md': 'Use tabs.\n', 'CLAUDE.md': 'Run make.\n' })
  const { requests, options } = await overhear(workplace, script)
  const stage = await createStage(workplace, script, { ...options, permission: 'allow' })
  const of = (agent: string, from = 0) =>
    new Set(requests.slice(from).flatMap((request) => (request.agent === agent ? [request.messages[0]!.content] : [])))

  expect(await stage.play('Go.')).toMatchObject({ status: 'done' })
  expect(readFileSync(join(workplace.dir, '.troupe/memory.md'), 'utf8')).toBe('Tests need Node 22.\n')
  for (const agent of ['lead', 'general']) {
    const [system, ...others] = of(agent)
    expect(others).toEqual([])
    expect(system).toContain('From AGENTS.md:\nUse tabs.\n\nFrom CLAUDE.md:\nRun make.')
    expect(system).not.toContain('Tests need')
  }

  const before = requests.length
  await stage.play('Go again.')
  expect([...of('lead', before)][0]).toContain('From .troupe/memory.md:\nTests need Node 22.')
})

test('is changed only after a yes', async () => {
  const workplace = createWorkplace()
  const details: string[] = []
  const stage = await createStage(workplace, script, {
    onAsk: async ({ kind, detail }) => {
      details.push(`${kind} ${detail}`)
      return { decision: 'reject' }
    },
  })
  expect(await stage.play('Go.')).toMatchObject({ status: 'done' })
  expect(details).toEqual([
    expect.stringMatching(/^edit [\s\S]*\+\+\+ b\/\.troupe\/memory\.md[\s\S]*\+Tests need Node 22\./),
  ])
  expect(existsSync(join(workplace.dir, '.troupe/memory.md'))).toBe(false)
})
