import { describe, expect, test } from 'vitest'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

const launch = (count: number, prompt = 'work') =>
  Array.from({ length: count }, (_, index) => ({
    tool: 'task',
    args: { agent: 'explorer', prompt: `${prompt} ${index}`, background: true },
  }))

describe('results of background children', () => {
  test('64 that finish together reach the parent once each, gathered into few of its turns', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: launch(64), delayMs: 20 } },
        { when: { agent: 'explorer' }, reply: { text: 'R', delayMs: 600 } },
        { when: { agent: 'lead', results: 64 }, reply: { text: 'all', delayMs: 100 } },
        { when: { agent: 'lead' }, reply: { text: 'waiting', delayMs: 100 } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script)
    const finished = await play('go')
    expect(finished).toMatchObject({ status: 'done', text: 'all' })
    const delivered = ofType(events, 'result.delivered').map(({ alias }) => alias)
    expect(delivered).toHaveLength(64)
    expect(new Set(delivered).size).toBe(64)
    const turnsWithResults = new Set(ofType(events, 'result.delivered').map(({ seq }) => turnOf(events, seq)))
    // Within 50 ms that is 3; a busy machine spreads their ends, and the parent rightly does not wait for the last.
    const ends = ofType(events, 'session.ended').map(({ at }) => at)
    const spreadMs = Math.max(...ends) - Math.min(...ends)
    expect(turnsWithResults.size).toBeLessThanOrEqual(2 + Math.ceil(spreadMs / 100))
  })

  test('one that finishes while the parent is idle wakes it at once', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: launch(1) } },
        { when: { agent: 'explorer' }, reply: { text: 'R1', delayMs: 200 } },
        { when: { agent: 'lead', results: 1 }, reply: { text: 'got {{results}}' } },
        { when: { agent: 'lead' }, reply: { text: 'waiting' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script)
    expect((await play('go')).text).toBe('got exp-1: R1')
    expect(ofType(events, 'job.finished')).toHaveLength(1)
    expect(ofType(events, 'message.added').filter(({ role }) => role === 'result')).toHaveLength(1)
  })

  test('those that finish while the parent is in the middle of a turn come with its next ones', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: launch(3) } },
        { when: { agent: 'explorer', prompt: 'work 0' }, reply: { text: 'A', delayMs: 100 } },
        { when: { agent: 'explorer' }, reply: { text: 'B', delayMs: 300 } },
        { when: { agent: 'lead', results: 3 }, reply: { text: '{{results}}' } },
        { when: { agent: 'lead', results: 1 }, reply: { text: 'one', delayMs: 600 } },
        { when: { agent: 'lead' }, reply: { text: 'waiting' } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script)
    expect((await play('go')).text.split('\n').sort()).toEqual(['exp-1: A', 'exp-2: B', 'exp-3: B'])
  })

  test('one is put in front of the next request of a parent that is always busy', async () => {
    const busy = { calls: [{ tool: 'glob', args: { pattern: '*' } }], delayMs: 100 }
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: launch(1) } },
        { when: { agent: 'explorer' }, reply: { text: 'R1', delayMs: 250 } },
        { when: { agent: 'lead', results: 1 }, reply: { text: 'after {{turn}} turns' } },
        { when: { agent: 'lead', turn: '<60' }, reply: busy },
        { when: { agent: 'lead' }, reply: { text: 'starved' } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script)
    const { text } = await play('go')
    expect(text).toMatch(/^after \d+ turns$/)
  })
})

test('a long result comes cut, with a pointer that read_sub_agent pages through', async () => {
  const big = Array.from({ length: 3000 }, (_, index) => `line ${index} of the report`).join('\n')
  const script = {
    rules: [
      {
        when: { agent: 'lead', turn: 1 },
        reply: { calls: [{ tool: 'task', args: { agent: 'explorer', prompt: 'big' } }] },
      },
      { when: { agent: 'explorer' }, reply: { text: big } },
      {
        when: { agent: 'lead', turn: 2, text: 'read_sub_agent' },
        reply: { calls: [{ tool: 'read_sub_agent', args: { job: 'exp-1', offset: 1500, limit: 3 } }] },
      },
      { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
    ],
  }
  const { play } = await createStage(createWorkplace(), script)
  const { text } = await play('go')
  expect(text).toMatch(/line 149\d of the report/)
  expect(text).toContain('showing lines 1500-1502 of')
})

function turnOf(events: { seq: number; type: string; session: string; root: string }[], seq: number): number {
  const starts = events.filter(
    (event) => event.type === 'turn.started' && event.session === event.root && event.seq < seq,
  )
  return starts.at(-1)?.seq ?? 0
}
