import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JobId } from '../core/ids.ts'
import type { ModelMessage } from '../core/model.ts'
import type { JournalRecord } from '../core/records.ts'
import type { SessionState } from '../core/state.ts'
import { buildMessages } from './build-messages.ts'
import { emptyState, fold } from './fold.ts'
import { nextStep } from './next-step.ts'
import { calls, createJournal, jobResult, playJournal, seed, usage, writing } from './test-session.ts'

const choices = fc.array(fc.nat(1000), { minLength: 1, maxLength: 120 })
const stepContext = {
  running: new Set<never>(),
  isWriting: (tool: string) => writing.has(tool),
  limits: { maxTurns: 1000 },
}

describe('any journal', () => {
  test('folds at each of its prefixes to a state whose history a provider accepts', () => {
    fc.assert(
      fc.property(choices, fc.nat(), (picks, at) => {
        const records = playJournal(picks)
        const state = fold(records.slice(0, at % (records.length + 1)))
        expectValid(state)
      }),
      { numRuns: 400 },
    )
  })

  test('has exactly one result for each call before the next request', () => {
    fc.assert(
      fc.property(choices, (picks) => {
        const records = playJournal(picks)
        for (let end = 1; end <= records.length; end += 1) {
          const state = fold(records.slice(0, end))
          if (nextStep(state, stepContext).do === 'request') expectAllAnswered(buildMessages(state, (tool) => tool))
        }
      }),
      { numRuns: 150 },
    )
  })

  test('gives the same state folded at once, in two parts, and with records that come twice', () => {
    fc.assert(
      fc.property(choices, fc.nat(), (picks, at) => {
        const records = playJournal(picks)
        const cut = at % (records.length + 1)
        const whole = fold(records)
        expect(fold(records.slice(cut), fold(records.slice(0, cut)))).toEqual(whole)
        expect(fold([...records, ...records])).toEqual(whole)
      }),
      { numRuns: 150 },
    )
  })

  test('never throws, in whatever order its records come', () => {
    fc.assert(
      fc.property(choices, fc.nat(), (picks, salt) => {
        const shuffled = shuffle(playJournal(picks), salt).map((record, index) => ({ ...record, seq: index + 1 }))
        expectValid(fold(shuffled))
      }),
      { numRuns: 200 },
    )
  })

  test('delivers each result once, however often it arrives', () => {
    fc.assert(
      fc.property(choices, (picks) => {
        const state = fold(playJournal(picks))
        const shown = state.history.flatMap((item) => (item.kind === 'sub-agent-result' ? [item.job] : []))
        expect(new Set(shown).size).toBe(shown.length)
      }),
    )
  })
})

describe('the boundary', () => {
  test('places results in call order, then sub-agent results, then user texts', () => {
    const { add, state } = createJournal()
    add(
      { type: 'session.created', version: 1, seed },
      { type: 'message.received', message: { kind: 'user', text: 'go' } },
    )
    add({ type: 'turn.started', turn: 1, consumed: [2], epoch: 1 })
    add({ type: 'assistant.message', turn: 1, text: '', calls: calls(1, 'read', 'grep'), usage })
    const job = 'root-exp-1' as JobId
    add({ type: 'message.received', message: { kind: 'user', text: 'also this' } })
    add({
      type: 'message.received',
      message: { kind: 'result', job, alias: 'exp-1', agent: 'explorer', generation: 1, result: jobResult('R1') },
    })
    const done = (call: string, output: string) =>
      ({
        type: 'call.finished',
        call: call as never,
        durationMs: 1,
        result: { output, isError: false, how: 'ok' },
      }) as const
    add(done('c1.2', 'second'), done('c1.1', 'first'))
    const step = nextStep(state, stepContext)
    expect(step).toEqual({ do: 'open-turn', consumed: [5, 6] })
    add({ type: 'turn.started', turn: 2, consumed: [5, 6], epoch: 1 })
    const shown = buildMessages(state, (tool) => tool).map((message) =>
      message.role === 'tool' ? message.output : message.text,
    )
    expect(shown).toEqual(['go', '', 'first', 'second', '', 'R1', 'also this'])
  })
})

describe('a turn that was stopped', () => {
  test('keeps the real result of what had finished and tells what had begun from what had not', () => {
    const { add, state } = createJournal()
    add(
      { type: 'session.created', version: 1, seed },
      { type: 'message.received', message: { kind: 'user', text: 'go' } },
    )
    add({ type: 'turn.started', turn: 1, consumed: [2], epoch: 1 })
    add({ type: 'assistant.message', turn: 1, text: '', calls: calls(1, 'read', 'bash', 'edit'), usage })
    add({
      type: 'call.finished',
      call: 'c1.1' as never,
      durationMs: 1,
      result: { output: 'real', isError: false, how: 'ok' },
    })
    add({ type: 'call.started', call: 'c1.2' as never }, { type: 'turn.interrupted', turn: 1, reason: 'user' })
    expect(nextStep(state, stepContext).do).toBe('idle')
    add({ type: 'message.received', message: { kind: 'user', text: 'continue' } })
    add({ type: 'turn.started', turn: 2, consumed: [8], epoch: 2 })
    const results = state.history.flatMap((item) => (item.kind === 'result' ? [item.result.how] : []))
    expect(results).toEqual(['ok', 'interrupted', 'cancelled'])
    expect(state.history.at(-1)).toMatchObject({ kind: 'user', text: 'continue' })
  })

  test('keeps the text that had streamed, marked', () => {
    const { add, state } = createJournal()
    add(
      { type: 'session.created', version: 1, seed },
      { type: 'message.received', message: { kind: 'user', text: 'go' } },
    )
    add(
      { type: 'turn.started', turn: 1, consumed: [2], epoch: 1 },
      { type: 'turn.partial', turn: 1, text: 'half a th' },
    )
    add({ type: 'turn.interrupted', turn: 1, reason: 'user' })
    expect(state.history.at(-1)).toMatchObject({ kind: 'assistant', text: 'half a th\n[interrupted here]' })
  })
})

describe('suspending', () => {
  test('waits while every unanswered call waits outside or behind one that does', () => {
    const { add, state } = createJournal()
    add(
      { type: 'session.created', version: 1, seed },
      { type: 'message.received', message: { kind: 'user', text: 'go' } },
    )
    add({ type: 'turn.started', turn: 1, consumed: [2], epoch: 1 })
    add({ type: 'assistant.message', turn: 1, text: '', calls: calls(1, 'bash', 'edit', 'edit'), usage })
    expect(nextStep(state, stepContext)).toMatchObject({ do: 'run', calls: [{ id: 'c1.1' }] })
    add({
      type: 'ask.requested',
      id: 'a1' as never,
      call: 'c1.1' as never,
      kind: 'shell',
      title: 't',
      detail: 'd',
      key: 'bash',
      pattern: 'x',
    })
    expect(nextStep(state, stepContext)).toEqual({ do: 'suspend', waitingFor: ['ask a1'] })
    add({ type: 'ask.resolved', id: 'a1' as never, call: 'c1.1' as never, answer: { decision: 'once' }, by: 'person' })
    expect(nextStep(state, stepContext)).toMatchObject({ do: 'run', calls: [{ id: 'c1.1' }] })
  })
})

function shuffle(records: JournalRecord[], salt: number): JournalRecord[] {
  return records
    .map((record, index) => ({ record, key: (index * 7919 + salt * 104729) % 1009 }))
    .sort((a, b) => a.key - b.key)
    .map(({ record }) => record)
}

/** What holds of every state, wherever its journal was cut. */
function expectValid(state: SessionState): void {
  const messages = buildMessages(state, (tool) => tool)
  const open = new Set(state.calls.map(({ id }) => `call_${id.replace('.', '_')}`))
  expectAllAnswered(messages, open)
  expect(new Set(state.mailbox.map(({ seq }) => seq)).size).toBe(state.mailbox.length)
  expect(new Set(state.received).size).toBe(state.received.length)
  if (state.phase === 'calls') expect(state.calls.length).toBeGreaterThan(0)
  expect(() => nextStep(state, stepContext)).not.toThrow()
  expect(state.lastSeq).toBeGreaterThanOrEqual(emptyState().lastSeq)
}

/** Every call is followed by exactly one result, in order, before anything else; calls in `open` are still to come. */
function expectAllAnswered(messages: ModelMessage[], open = new Set<string>()): void {
  let awaited: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      expect(message.id).toBe(awaited.shift())
      continue
    }
    expect(awaited).toEqual([])
    if (message.role === 'assistant') awaited = message.calls.map(({ id }) => id)
  }
  expect(awaited.filter((id) => !open.has(id))).toEqual([])
}
