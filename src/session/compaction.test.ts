import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JobId } from '../core/ids.ts'
import type { RecordBody } from '../core/records.ts'
import type { SessionState } from '../core/state.ts'
import { buildMessages } from './build-messages.ts'
import { plainSummary, planCompaction, summaryText } from './compaction.ts'
import { fold } from './fold.ts'
import { calls, createJournal, jobResult, playJournal, seed, usage } from './test-session.ts'

const choices = fc.array(fc.nat(1000), { minLength: 20, maxLength: 160 })
const rooms = fc.record({
  keepTokens: fc.nat(120),
  freshTokens: fc.nat(240),
  maxChars: fc.integer({ min: 40, max: 4000 }),
})

describe('any history', () => {
  test('is compacted to one that a provider accepts: no call without its result, a user message first', () => {
    let compacted = 0
    const property = fc.property(choices, fc.nat(), rooms, (picks, at, room) => {
      const records = playJournal(picks)
      const before = records.slice(0, 1 + (at % records.length))
      const state = fold(before)
      const plan = planCompaction(state, room)
      if (!plan) return
      compacted += 1
      expect(plan.transcript.length).toBeLessThanOrEqual(room.maxChars)
      const summary = summaryText(state, 'words')
      const after = fold([
        ...before,
        { seq: state.lastSeq + 1, at: 0, type: 'history.compacted', uptoSeq: plan.uptoSeq, summary },
      ])
      expectPaired(after)
      expect(after.history.filter(({ kind }) => kind === 'user')[0]).toEqual(
        state.history.find(({ kind }) => kind === 'user'),
      )
      const { history: _, measured: _m, lastSeq: _l, ...rest } = after
      const { history: _h, measured: _n, lastSeq: _o, ...same } = state
      expect(rest).toEqual(same)
    })
    fc.assert(property, { numRuns: 600 })
    expect(compacted).toBeGreaterThan(50)
  })

  test('loses nothing but what the summary stands for', () => {
    const property = fc.property(choices, rooms, (picks, room) => {
      const records = playJournal(picks)
      const state = fold(records)
      const plan = planCompaction(state, room)
      if (!plan) return
      const after = fold([
        ...records,
        { seq: state.lastSeq + 1, at: 0, type: 'history.compacted', uptoSeq: plan.uptoSeq, summary: 's' },
      ])
      const kept = after.history.filter(({ kind }) => kind !== 'summary')
      const first = state.history.find(({ kind }) => kind === 'user')
      expect(kept).toEqual([first, ...state.history.slice(plan.replaced.length)].filter(Boolean))
    })
    fc.assert(property, { numRuns: 300 })
  })
})

/** As a provider checks it: each call is followed by its result, and each result has its call before it. */
function expectPaired(state: SessionState): void {
  const messages = buildMessages(state, (tool) => tool)
  const waiting: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      expect(waiting.shift()).toBe(message.id)
      continue
    }
    expect(waiting).toEqual([])
    if (message.role === 'assistant') waiting.push(...message.calls.map(({ id }) => id))
  }
  expect(waiting).toEqual([])
  expect(messages[0]?.role).toBe('user')
}

const todo = (content: string, status: 'pending' | 'in_progress' | 'completed') => ({
  content,
  status,
  priority: 'high' as const,
})

/** A session at work: it has read and written files, keeps a list, has one child running and one delivered. */
function atWork() {
  const journal = createJournal()
  const launched = (alias: string, background: boolean): RecordBody => ({
    type: 'job.launched',
    job: `root-${alias}` as JobId,
    alias,
    generation: 1,
    call: 'c1.3' as never,
    background,
    prompt: 'p',
    seed: { ...seed, agent: { ...seed.agent, name: 'explorer' }, depth: 1 },
  })
  const finished = (n: number, more: object): RecordBody => ({
    type: 'call.finished',
    call: `c1.${n}` as never,
    durationMs: 1,
    result: { output: 'o', isError: false, how: 'ok', ...more },
  })
  journal.add(
    { type: 'session.created', version: 1, seed },
    { type: 'message.received', message: { kind: 'user', text: 'Repair the parser. Keep the API.' } },
    { type: 'turn.started', turn: 1, consumed: [2], epoch: 1 },
    { type: 'assistant.message', turn: 1, text: '', calls: calls(1, 'read', 'todowrite', 'task'), usage },
    finished(1, { touched: [{ path: '/w/src/parse.ts', kind: 'read', hash: 'h1' }] }),
    finished(2, { todos: [todo('find the fault', 'completed'), todo('write a test', 'pending')] }),
    launched('exp-1', true),
    launched('exp-2', true),
    finished(3, {}),
    {
      type: 'message.received',
      message: {
        kind: 'result',
        job: 'root-exp-1' as JobId,
        alias: 'exp-1',
        agent: 'explorer',
        generation: 1,
        result: jobResult('It is in line 7.'),
      },
    },
    { type: 'turn.started', turn: 2, consumed: [10], epoch: 1 },
    { type: 'assistant.message', turn: 2, text: 'I keep the API and change line 7.', calls: [], usage },
  )
  return journal
}

const all = { keepTokens: 0, freshTokens: 0, maxChars: 10_000 }

describe('a summary', () => {
  test('keeps task, words, open to-dos, files touched and running jobs', () => {
    const { state } = atWork()
    const text = summaryText(state, 'Decided: line 7 is wrong.', 4000)
    expect(text).toContain('Decided: line 7 is wrong.')
    expect(text).toContain('- [pending] write a test')
    expect(text).toContain('Files you have read or changed: src/parse.ts')
    expect(text).toContain('Sub-agents at work, their results will come: exp-2 (explorer)')
    expect(text).not.toContain('exp-1')
  })

  test('is told the task, decisions and results', () => {
    const plan = planCompaction(atWork().state, all)
    for (const part of ['Keep the API', 'It is in line 7.', 'I keep the API and change line 7.']) {
      expect(plan?.transcript).toContain(part)
    }
  })

  test('without a model keeps what was said and found last', () => {
    const plan = planCompaction(atWork().state, all)!
    const text = plainSummary(plan, 2000)
    expect(text).toContain('It is in line 7.')
    expect(text).toContain('I keep the API and change line 7.')
  })

  test.each([400, 1000, 4000])('of a long answer, list and many files is at most %i characters', (maxChars) => {
    const { state } = atWork()
    state.todos = Array.from({ length: 60 }, (_, n) =>
      todo(`step ${n} ${'x'.repeat(80)}`, n < 20 ? 'completed' : 'pending'),
    )
    state.files = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`/w/src/file-${n}.ts`, 'h']))
    const text = summaryText(state, 'word '.repeat(10_000), maxChars)
    expect(text.length).toBeLessThanOrEqual(maxChars * 1.35 + 200)
    expect(text).toContain('step 20 ')
    expect(text).not.toContain('step 19 ')
    expect(text).toContain('exp-2 (explorer)')
    expect(text).toContain('word word')
  })

  test('is not made while a call is open, nor of a history that has nothing to sum up', () => {
    const open = createJournal()
    open.add(
      ...atWork()
        .records.slice(0, 5)
        .map(({ seq: _, at: _a, ...body }) => body as RecordBody),
    )
    expect(planCompaction(open.state, all)).toBeUndefined()
    const fresh = createJournal()
    fresh.add(
      ...atWork()
        .records.slice(0, 3)
        .map(({ seq: _, at: _a, ...body }) => body as RecordBody),
    )
    expect(planCompaction(fresh.state, all)).toBeUndefined()
  })
})

describe('the last exchange', () => {
  const exchange = (size: number) => {
    const journal = atWork()
    journal.add(
      { type: 'message.received', message: { kind: 'user', text: 'x'.repeat(size) } },
      { type: 'turn.started', turn: 3, consumed: [13], epoch: 1 },
    )
    return journal.state
  }

  test('stays as it is when there is room for it, though it is more than what is kept of the past', () => {
    const state = exchange(400)
    const plan = planCompaction(state, { keepTokens: 10, freshTokens: 150, maxChars: 4000 })
    expect(state.history.slice(plan!.replaced.length).map(({ kind }) => kind)).toEqual(['assistant', 'user'])
  })

  test('is summed up with the rest when there is not', () => {
    const plan = planCompaction(exchange(4000), { keepTokens: 10, freshTokens: 150, maxChars: 8000 })
    expect(plan?.transcript).toContain('x'.repeat(1000))
  })
})
