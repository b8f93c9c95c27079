import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PermissionAsk } from '../src/index.ts'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

/** A foreground chain root -> mid -> low -> leaf; the leaf runs a command that asks. */
const chain = {
  rules: [
    { when: { depth: 0, turn: 1 }, reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'mid' } }] } },
    { when: { depth: 1, turn: 1 }, reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'low' } }] } },
    { when: { depth: 2, turn: 1 }, reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'leaf' } }] } },
    {
      when: { depth: 3, turn: 1 },
      reply: {
        calls: [{ tool: 'bash', args: { command: 'printf hi > made.txt; cat made.txt', description: 'say hi' } }],
      },
    },
    { when: {}, reply: { text: 'depth over: {{last}}' } },
  ],
}

const deep = { config: { maxDepth: 3 }, workers: 1 }

describe('a pool of one thread with a foreground chain of depth 3', () => {
  test('brings the one question of the leaf to whoever answers, and everything ends', async () => {
    const asked: PermissionAsk[] = []
    const workplace = createWorkplace()
    const { play } = await createStage(workplace, chain, {
      ...deep,
      onAsk: async (ask) => {
        asked.push(ask)
        return { decision: 'once' }
      },
    })
    const finished = await play('go')
    expect(finished).toMatchObject({ status: 'done', denied: 0 })
    expect(finished.text).toContain('hi')
    expect(asked).toMatchObject([
      { kind: 'shell', depth: 3, agent: 'general', detail: 'printf hi > made.txt; cat made.txt' },
    ])
    expect(readFileSync(join(workplace.dir, 'made.txt'), 'utf8')).toBe('hi')
    expect(finished.jobs.map(({ state, delivered }) => `${state} ${delivered}`)).toEqual(
      Array(3).fill('completed true'),
    )
  })

  test('denies it at once where nobody can be asked, and the model reads which flag would help', async () => {
    const { play, events } = await createStage(createWorkplace(), chain, deep)
    const finished = await play('go')
    expect(finished).toMatchObject({ status: 'done', denied: 1 })
    expect(finished.text).toContain('--allow')
    expect(ofType(events, 'permission.resolved')).toMatchObject([{ decision: 'reject', by: 'policy' }])
  })

  test('lets both parents finish when a person says no', async () => {
    const { play } = await createStage(createWorkplace(), chain, {
      ...deep,
      onAsk: async () => ({ decision: 'reject', text: 'not today' }),
    })
    const finished = await play('go')
    expect(finished.status).toBe('done')
    expect(finished.text).toContain('not today')
  })
})

describe('depth', () => {
  const nested = {
    rules: [
      { when: { depth: 0, turn: 1 }, reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'one' } }] } },
      { when: { depth: 1, turn: 1 }, reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'two' } }] } },
      { when: { depth: 2 }, reply: { text: 'deep down' } },
      { when: {}, reply: { text: '{{last}}' } },
    ],
  }

  test('a child that tries task at depth 1 reads "unknown tool" with the valid ones', async () => {
    const { play } = await createStage(createWorkplace(), nested)
    const { text } = await play('go')
    expect(text).toContain('unknown tool "task"')
    expect(text).toContain('read')
    expect(text).not.toMatch(/Valid tools:.*task/)
  })

  test('with a configuration that allows depth 2 it works', async () => {
    const { play } = await createStage(createWorkplace(), nested, { config: { maxDepth: 2 } })
    expect((await play('go')).text).toBe('deep down')
  })

  test('an agent that always sends itself stops at the limit and the chain unwinds', async () => {
    const endless = {
      rules: [
        { when: { last: 'user' }, reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'again' } }] } },
        { when: {}, reply: { text: 'back: {{last}}' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), endless, { config: { denyAtDepth: [], maxDepth: 3 } })
    const { status } = await play('go')
    expect(status).toBe('done')
    expect(ofType(events, 'session.created')).toHaveLength(4)
  })
})
