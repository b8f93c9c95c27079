import { describe, expect, test } from 'vitest'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

const background = (prompt: string) => ({ tool: 'task', args: { agent: 'explorer', prompt, background: true } })

describe('task_send', () => {
  test('reaches a child at its next boundary', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [background('slow')] } },
        {
          when: { agent: 'lead', turn: 2 },
          reply: { calls: [{ tool: 'task_send', args: { job: 'exp-1', message: 'also count' } }] },
        },
        { when: { agent: 'explorer', text: 'also count' }, reply: { text: 'counted' } },
        { when: { agent: 'explorer' }, reply: { calls: [{ tool: 'glob', args: { pattern: '*' } }], delayMs: 100 } },
        { when: { agent: 'lead', results: 1 }, reply: { text: '{{results}}' } },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script)
    expect((await play('go')).text).toBe('exp-1: counted')
  })

  test('with interrupt stops what the child is doing first', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [background('slow')] } },
        {
          when: { agent: 'lead', turn: 2 },
          reply: {
            delayMs: 150,
            calls: [{ tool: 'task_send', args: { job: 'exp-1', message: 'stop that', interrupt: true } }],
          },
        },
        { when: { agent: 'explorer', text: 'stop that' }, reply: { text: 'stopped' } },
        { when: { agent: 'explorer' }, reply: { text: 'word '.repeat(2000), chunkMs: 50 } },
        { when: { agent: 'lead', results: 1 }, reply: { text: '{{results}}' } },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script)
    expect((await play('go')).text).toBe('exp-1: stopped')
  })

  test('to one that has ended says how to continue it', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [background('quick')] } },
        { when: { agent: 'explorer' }, reply: { text: 'R' } },
        {
          when: { agent: 'lead', results: 1, last: 'sub_agent_result' },
          reply: { calls: [{ tool: 'task_send', args: { job: 'exp-1', message: 'x' } }] },
        },
        { when: { agent: 'lead', results: 1 }, reply: { text: '{{last}}' } },
        { when: { agent: 'lead' }, reply: { text: 'waiting' } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script)
    expect((await play('go')).text).toContain('task with job "exp-1"')
  })
})

describe('task_wait', () => {
  const script = (childDelayMs: number, timeout_ms: number) => ({
    rules: [
      { when: { agent: 'lead', turn: 1 }, reply: { calls: [background('one')] } },
      {
        when: { agent: 'lead', turn: 2 },
        reply: { calls: [{ tool: 'task_wait', args: { jobs: ['exp-1'], timeout_ms } }] },
      },
      { when: { agent: 'explorer' }, reply: { text: 'R', delayMs: childDelayMs } },
      { when: { agent: 'lead', turn: 3 }, reply: { text: 'after wait: {{last}}' } },
      { when: { agent: 'lead' }, reply: { text: 'late' } },
    ],
  })

  test('ends when the named job ends; the result comes at the same boundary', async () => {
    const { play, events } = await createStage(createWorkplace(), script(200, 60_000))
    const finished = await play('go')
    expect(finished.status).toBe('done')
    expect(finished.text).toContain('after wait')
    const texts = ofType(events, 'result.delivered')
    expect(texts).toHaveLength(1)
  })

  test('that runs out is a normal answer', async () => {
    const { play, events } = await createStage(createWorkplace(), script(1500, 50))
    await play('go')
    const said = ofType(events, 'message.added').map(({ text }) => text)
    expect(said.some((text) => text.includes('The time is over') && text.includes('still at work'))).toBe(true)
  })

  test('ends when the user writes', async () => {
    const { troupe, events } = await createStage(createWorkplace(), script(3000, 60_000))
    const run = troupe.run({ prompt: 'go' })
    await new Promise<void>((resolve) =>
      troupe.events.subscribe(
        ({ type, session, root }) => type === 'session.suspended' && session === root && resolve(),
      ),
    )
    run.send('hello there')
    await run.finished
    const said = ofType(events, 'message.added').map(({ text }) => text)
    expect(said).toContain('hello there')
    expect(ofType(events, 'turn.started').filter(({ session }) => session === run.session).length).toBeGreaterThan(2)
  })
})

describe('task_cancel', () => {
  test('stops the whole subtree and answers with what each had', async () => {
    const script = {
      rules: [
        {
          when: { depth: 0, turn: 1 },
          reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'upper', background: true } }] },
        },
        {
          when: { depth: 0, turn: 2 },
          reply: { delayMs: 2500, calls: [{ tool: 'task_cancel', args: { job: 'gen-1' } }] },
        },
        { when: { depth: 0 }, reply: { text: '{{last}}' } },
        {
          when: { depth: 1, turn: 1 },
          reply: { text: 'upper was here', calls: [{ tool: 'task', args: { agent: 'general', prompt: 'lower' } }] },
        },
        { when: { depth: 2 }, reply: { text: 'lower words '.repeat(500), chunkMs: 50 } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script, { config: { maxDepth: 2 } })
    const finished = await play('go')
    expect(finished.status).toBe('done')
    expect(finished.text).toContain('upper was here')
    expect(finished.text).toContain('lower words')
    expect(ofType(events, 'session.ended').map(({ state }) => state)).toEqual(['cancelled', 'cancelled'])
    expect(ofType(events, 'result.delivered').filter(({ session, root }) => session === root)).toHaveLength(1)
    expect(finished.jobs).toMatchObject([
      { alias: 'gen-1', state: 'cancelled', delivered: true },
      { alias: 'gen-1', state: 'cancelled' },
    ])
  })
})

describe('continuing a finished child', () => {
  const first = {
    when: { agent: 'lead', turn: 1 },
    reply: { calls: [{ tool: 'task', args: { agent: 'explorer', prompt: 'first' } }] },
  }

  test('gives it the new prompt on top of its history, as a new generation', async () => {
    const script = {
      rules: [
        first,
        {
          when: { agent: 'lead', turn: 2 },
          reply: { calls: [{ tool: 'task', args: { agent: 'explorer', prompt: 'second', job: 'exp-1' } }] },
        },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
        { when: { agent: 'explorer', turn: 1 }, reply: { text: 'one' } },
        { when: { agent: 'explorer', turn: 2, prompt: 'first', text: 'second' }, reply: { text: 'two' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script)
    const finished = await play('go')
    expect(finished.text).toBe('two')
    expect(ofType(events, 'result.delivered').map(({ generation }) => generation)).toEqual([1, 2])
    expect(ofType(events, 'session.created')).toHaveLength(2)
  })

  test('is refused when the alias names another agent', async () => {
    const script = {
      rules: [
        first,
        {
          when: { agent: 'lead', turn: 2 },
          reply: { calls: [{ tool: 'task', args: { agent: 'planner', prompt: 'second', job: 'exp-1' } }] },
        },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
        { when: {}, reply: { text: 'one' } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script)
    expect((await play('go')).text).toContain('exp-1 is a job of explorer')
  })
})

test('a foreground child that is moved goes on in the background and its result comes as a pair', async () => {
  const script = {
    rules: [
      {
        when: { agent: 'lead', turn: 1 },
        reply: { calls: [{ tool: 'task', args: { agent: 'explorer', prompt: 'long' } }] },
      },
      { when: { agent: 'explorer' }, reply: { text: 'R', delayMs: 700 } },
      { when: { agent: 'lead', results: 1 }, reply: { text: '{{results}}' } },
      { when: { agent: 'lead' }, reply: { text: 'moved' } },
    ],
  }
  const { troupe, events } = await createStage(createWorkplace(), script)
  const run = troupe.run({ prompt: 'go' })
  await new Promise<void>((resolve) =>
    troupe.events.subscribe(({ type, session, root }) => type === 'session.suspended' && session === root && resolve()),
  )
  expect(troupe.moveToBackground(`${run.session}-exp-1`)).toBe(true)
  expect(troupe.moveToBackground(`${run.session}-exp-1`)).toBe(false)
  expect((await run.finished).text).toBe('exp-1: R')
  expect(ofType(events, 'result.delivered')).toMatchObject([{ via: 'pair' }])
})
