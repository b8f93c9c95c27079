import { describe, expect, test } from 'vitest'
import type { RuntimeEvent } from '../src/index.ts'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

const looking = (pattern = '*.{{turn}}') => ({ calls: [{ tool: 'glob', args: { pattern } }] })
const foreground = (extra: object = {}) => ({
  calls: [{ tool: 'task', args: { agent: 'explorer', prompt: 'look', ...extra } }],
})
const many = (count: number) => ({
  calls: Array.from({ length: count }, (_, index) => ({
    tool: 'task',
    args: { agent: 'explorer', prompt: `p${index}`, background: true },
  })),
})

/** Children between their first activation and their end. */
function mostAtWork(events: RuntimeEvent[]): number {
  let atWork = 0
  let most = 0
  for (const event of events) {
    if (event.session === event.root) continue
    if (event.type === 'session.activated') atWork += 1
    if (event.type === 'session.ended') atWork -= 1
    most = Math.max(most, atWork)
  }
  return most
}

describe('a limit', () => {
  test('of turns grants one last turn to sum up, then ends the child with what it has', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: foreground({ max_turns: 3 }) },
        { when: { agent: 'explorer', turn: '<=3' }, reply: looking() },
        { when: { agent: 'explorer', turn: 4 }, reply: { text: 'what I have', ...looking() } },
        { when: { agent: 'explorer' }, reply: { text: 'went too far' } },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script)
    const finished = await play('go')
    expect(finished.status).toBe('done')
    expect(finished.text).toContain('what I have')
    expect(finished.text).toContain('reached a limit')
    expect(finished.jobs).toMatchObject([{ state: 'limit', delivered: true }])
    expect(ofType(events, 'limit.reached')).toMatchObject([{ limit: 'maxTurns', value: 3 }])
    expect(ofType(events, 'tool.started').filter(({ tool }) => tool === 'glob')).toHaveLength(3)
  })

  test('of the root ends the run as limit, with its last words', async () => {
    const script = {
      rules: [
        { when: { turn: '<3' }, reply: looking() },
        { when: {}, reply: { text: 'summed up' } },
      ],
    }
    const { troupe } = await createStage(createWorkplace(), script)
    const finished = await troupe.run({ prompt: 'go', maxTurns: 2 }).finished
    expect(finished).toMatchObject({ status: 'limit', text: 'summed up' })
  })

  test('of tokens counts input and output', async () => {
    const script = {
      rules: [
        { when: { turn: '<9' }, reply: { ...looking(), usage: { input: 400, output: 100 } } },
        { when: {}, reply: { text: 'end' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script, { config: { limits: { maxTokens: 1400 } } })
    expect((await play('go')).status).toBe('limit')
    expect(ofType(events, 'turn.started')).toHaveLength(4)
  })

  test('of the whole run stops every session of the tree in its turn', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { ...many(3), usage: { input: 10, output: 10 } } },
        { when: { agent: 'explorer', turn: '<50' }, reply: { ...looking(), usage: { input: 900, output: 100 } } },
        { when: { agent: 'lead', results: 3 }, reply: { text: 'all {{results}}', usage: { input: 10, output: 10 } } },
        { when: {}, reply: { text: 'end', usage: { input: 10, output: 10 } } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script, { config: { budget: { maxTokens: 6000 } } })
    const finished = await play('go')
    expect(finished.status).toBe('limit')
    expect(finished.jobs.map(({ state }) => state)).not.toContain('running')
    expect(finished.usage.inputTokens).toBeLessThan(12_000)
  })

  test('of time delivers what the child had, marked as partial', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: foreground({ timeout_ms: 800 }) },
        { when: { agent: 'explorer' }, reply: { text: 'so far so good '.repeat(500), chunkMs: 50 } },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script)
    const finished = await play('go')
    expect(finished.text).toContain('ran out of time')
    expect(finished.text).toContain('(partial):\nso far so good')
    expect(finished.jobs).toMatchObject([{ state: 'timed_out', delivered: true }])
  })

  test('of time stands still while a person is asked', async () => {
    const script = {
      rules: [
        {
          when: { agent: 'lead', turn: 1 },
          reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'x', timeout_ms: 1500 } }] },
        },
        {
          when: { agent: 'general', turn: 1 },
          reply: { calls: [{ tool: 'bash', args: { command: 'touch x; echo ran' } }] },
        },
        { when: {}, reply: { text: '{{last}}' } },
      ],
    }
    const onAsk = () =>
      new Promise<{ decision: 'once' }>((resolve) => setTimeout(() => resolve({ decision: 'once' }), 2500))
    const { play } = await createStage(createWorkplace(), script, { onAsk })
    expect((await play('go')).jobs).toMatchObject([{ state: 'completed' }])
  })

  test('of children at once queues the others and refuses none', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: many(6) },
        { when: { agent: 'explorer' }, reply: { text: 'R', delayMs: 100 } },
        { when: { agent: 'lead', results: 6 }, reply: { text: 'six' } },
        { when: {}, reply: { text: 'waiting' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script, { config: { limits: { maxChildren: 2 } } })
    expect((await play('go')).text).toBe('six')
    expect(mostAtWork(events)).toBe(2)
  })

  test('of children at once counts after a restart as well', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: many(5) },
        { when: { agent: 'explorer' }, reply: { text: 'R', delayMs: 300 } },
        { when: { agent: 'lead', results: 5 }, reply: { text: 'five' } },
        { when: {}, reply: { text: 'waiting' } },
      ],
    }
    const workplace = createWorkplace()
    const model = `scripted:${workplace.script(script)}`
    const options = { config: { limits: { maxChildren: 2 } } }
    const first = await createStage(workplace, model, options)
    const { session } = first.troupe.run({ prompt: 'go' })
    while (ofType(first.events, 'job.launched').length < 5) await new Promise((resolve) => setTimeout(resolve, 5))
    await first.troupe.close()
    const { troupe, events } = await createStage(workplace, model, options)
    expect((await troupe.resume(session).finished).text).toBe('five')
    expect(mostAtWork(events)).toBe(2)
  })

  test('of children at once lets the next one begin also while a turn of its parent is being stopped', async () => {
    const stubborn = { tool: 'bash', args: { command: `trap '' TERM; for n in $(seq 20); do sleep 1; done` } }
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [...many(2).calls, stubborn] } },
        { when: { agent: 'explorer' }, reply: { text: 'R', delayMs: 1500 } },
        { when: { agent: 'lead', results: 2 }, reply: { text: 'two' } },
        { when: {}, reply: { text: 'waiting' } },
      ],
    }
    const { troupe, events } = await createStage(createWorkplace(), script, {
      permission: 'allow',
      config: { limits: { maxChildren: 1 } },
    })
    const run = troupe.run({ prompt: 'go' })
    while (!ofType(events, 'turn.started').some(({ session, root }) => session !== root)) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await new Promise((resolve) => setTimeout(resolve, 700))
    await run.interrupt()
    expect((await run.finished).text).toBe('two')
  })

  test('of time ends with its run', async () => {
    const script = { rules: [{ when: {}, reply: { text: 'quick' } }] }
    const { troupe, events } = await createStage(createWorkplace(), script, { host: 'inline' })
    const finished = await troupe.run({ prompt: 'go', timeoutMs: 1500 }).finished
    expect(finished.status).toBe('done')
    const told = events.length
    await new Promise((resolve) => setTimeout(resolve, 2000))
    expect(events.slice(told)).toEqual([])
  })

  test('of children in total refuses with a text', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: many(3) },
        { when: { agent: 'explorer' }, reply: { text: 'R' } },
        { when: { agent: 'lead', results: 2 }, reply: { text: 'two' } },
        { when: {}, reply: { text: 'waiting' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script, {
      config: { limits: { maxChildrenTotal: 2 } },
    })
    expect((await play('go')).text).toBe('two')
    expect(ofType(events, 'job.launched')).toHaveLength(2)
  })
})

test('costs of children are summed into the parent where prices are known', async () => {
  const workplace = createWorkplace()
  const script = {
    rules: [
      { when: { agent: 'lead', turn: 1 }, reply: { ...foreground(), usage: { input: 1000, output: 0 } } },
      { when: { agent: 'explorer' }, reply: { text: 'R', usage: { input: 1000, output: 500 } } },
      { when: {}, reply: { text: 'end', usage: { input: 0, output: 0 } } },
    ],
  }
  const path = workplace.script(script)
  const prices = { [`scripted:${path}`]: { input: 10, output: 20 } }
  const { play } = await createStage(workplace, `scripted:${path}`, { config: { prices } })
  expect((await play('go')).usage).toEqual({ inputTokens: 2000, outputTokens: 500, cost: 0.03 })
})

describe('a session that goes round', () => {
  const loop = (reply: object) => ({
    rules: [
      { when: { turn: '<20' }, reply },
      { when: {}, reply: { text: 'never' } },
    ],
  })

  test('is warned once and then stopped', async () => {
    const { play, events } = await createStage(
      createWorkplace(),
      loop({ calls: [{ tool: 'grep', args: { pattern: 'x' } }] }),
    )
    expect((await play('go')).status).toBe('limit')
    expect(ofType(events, 'limit.reached')).toMatchObject([{ limit: 'loop' }])
    expect(ofType(events, 'tool.started')).toHaveLength(4)
  })

  test('of two steps is found as well', async () => {
    const script = {
      rules: [
        { when: { turn: '<20', last: 'grep' }, reply: { calls: [{ tool: 'glob', args: { pattern: '*' } }] } },
        { when: { turn: '<20' }, reply: { calls: [{ tool: 'grep', args: { pattern: 'x' } }] } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script)
    expect((await play('go')).status).toBe('limit')
    expect(ofType(events, 'tool.started').length).toBeLessThanOrEqual(8)
  })

  test('but sees another result each time is polling', async () => {
    const script = {
      rules: [
        { when: { turn: '<8' }, reply: { calls: [{ tool: 'bash', args: { command: 'echo x >> n; wc -l < n' } }] } },
        { when: {}, reply: { text: 'polled' } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script, { permission: 'allow' })
    expect(await play('go')).toMatchObject({ status: 'done', text: 'polled' })
  })

  test('whose arguments only change their order makes the same call', async () => {
    const args = [
      { pattern: 'x', include: '*.ts' },
      { include: '*.ts', pattern: 'x' },
    ]
    const rules = [1, 2, 3, 4, 5, 6].map((turn) => ({
      when: { turn },
      reply: { calls: [{ tool: 'grep', args: args[turn % 2] }] },
    }))
    const { play } = await createStage(createWorkplace(), { rules: [...rules, { when: {}, reply: { text: 'never' } }] })
    expect((await play('go')).status).toBe('limit')
  })
})

test('a child that stalls is shown as stalled, then cancelled, and its parent gets what it had', async () => {
  const script = {
    rules: [
      { when: { agent: 'lead', turn: 1 }, reply: foreground() },
      { when: { agent: 'explorer' }, reply: { text: 'one two three four five six', chunkMs: 20, fault: { stall: 3 } } },
      { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
    ],
  }
  const { play, events } = await createStage(createWorkplace(), script, { config: { limits: { stallMs: 400 } } })
  const finished = await play('go')
  expect(finished.status).toBe('done')
  expect(finished.text).toContain('It stalled')
  expect(finished.text).toContain('one')
  expect(ofType(events, 'limit.reached')).toMatchObject([{ limit: 'stallMs', value: 400 }])
})
