import type { AgentDefinition } from '../core/agent.ts'
import { askId, callId, type JobId, type SessionId } from '../core/ids.ts'
import type { JobResult, JournalRecord, RecordBody, RecordedCall, SessionSeed } from '../core/records.ts'
import type { SessionState } from '../core/state.ts'
import { applyRecord, emptyState } from './fold.ts'
import { nextStep } from './next-step.ts'

const agent: AgentDefinition = {
  name: 'lead',
  description: 'd',
  prompt: 'p',
  mode: 'primary',
  tools: [],
  permission: [],
  limits: {},
  source: { kind: 'code' },
}

export const session = 'root' as SessionId

export const seed: SessionSeed = { session, root: session, depth: 0, agent, model: 'scripted:x', dir: '/w', limits: {} }

export const usage = { inputTokens: 1, outputTokens: 1 }

export function jobResult(text: string): JobResult {
  return { state: 'completed', text, usage, turns: 1 }
}

export const writing = new Set(['bash', 'edit', 'write'])

/** A journal that grows: numbers records and folds each at once. */
export function createJournal() {
  const records: JournalRecord[] = []
  const state = emptyState()
  return {
    records,
    state,
    add(...bodies: RecordBody[]): SessionState {
      for (const body of bodies) {
        const record = { seq: records.length + 1, at: 0, ...body } as JournalRecord
        records.push(record)
        applyRecord(state, record)
      }
      return state
    },
  }
}

/** Calls of a turn, by tool name. */
export function calls(turn: number, ...tools: string[]): RecordedCall[] {
  return tools.map((tool, index) => ({ id: callId(turn, index + 1), tool, args: {} }))
}

/**
 * Plays a session from a stream of choices (numbers), as worker and supervisor would write it: replies with random calls,
 * calls that end, ask, launch jobs, results that arrive, users who write, interruptions. Every record is one that may
 * follow, so each prefix is what a crash could leave.
 */
export function playJournal(choices: number[]): JournalRecord[] {
  const journal = createJournal()
  const { state } = journal
  journal.add(
    { type: 'session.created', version: 1, seed },
    { type: 'message.received', message: { kind: 'user', text: 'go' } },
  )
  let jobs = 0
  for (const choice of choices) {
    const records = playOne(state, choice, () => {
      jobs += 1
      return jobs
    })
    journal.add(...records)
  }
  return journal.records
}

const toolNames = ['read', 'bash', 'task', 'edit', 'nosuch', 'grep']

function playOne(state: SessionState, choice: number, nextJob: () => number): RecordBody[] {
  const pick = choice % 7
  if (pick === 0) return [{ type: 'message.received', message: { kind: 'user', text: `u${choice}` } }]
  if (pick === 1 && choice % 5 === 0) return [{ type: 'turn.interrupted', turn: state.turn, reason: 'user' }]
  const late = state.jobs.find(({ background, delivered }) => background && !delivered)
  if (pick === 2 && late) return [resultOf(late)]
  const step = nextStep(state, {
    running: new Set(),
    isWriting: (tool) => writing.has(tool),
    limits: { maxTurns: 1000 },
  })
  if (step.do === 'open-turn')
    return [{ type: 'turn.started', turn: state.turn + 1, consumed: step.consumed, epoch: 1 }]
  if (step.do === 'request') return [reply(state.turn, choice)]
  if (step.do === 'run') return runOne(step.calls[choice % step.calls.length], choice, nextJob)
  if (step.do === 'suspend') return answerOne(state, choice)
  return []
}

function resultOf({ job, alias, agent: name, generation }: SessionState['jobs'][number]): RecordBody {
  return {
    type: 'message.received',
    message: { kind: 'result', job, alias, agent: name, generation, result: jobResult(alias) },
  }
}

function reply(turn: number, choice: number): RecordBody {
  const count = choice % 4
  const tools = Array.from({ length: count }, (_, index) => toolNames[(choice + index) % toolNames.length] ?? 'read')
  return { type: 'assistant.message', turn, text: count === 0 ? 'done' : '', calls: calls(turn, ...tools), usage }
}

function runOne(call: SessionState['calls'][number] | undefined, choice: number, nextJob: () => number): RecordBody[] {
  if (!call) return []
  const finished: RecordBody = {
    type: 'call.finished',
    call: call.id,
    durationMs: 1,
    result: { output: 'o', isError: false, how: 'ok' },
  }
  if (call.tool === 'task') {
    const alias = `exp-${nextJob()}`
    const job = `root-${alias}` as JobId
    const background = choice % 2 === 0
    const child = { ...seed, session: job as string as SessionId, depth: 1 }
    const launched: RecordBody = {
      type: 'job.launched',
      job,
      alias,
      generation: 1,
      call: call.id,
      background,
      prompt: 'p',
      seed: child,
    }
    return background ? [launched, finished] : [launched]
  }
  if (call.tool === 'bash' && !call.ask && choice % 3 === 0) {
    const id = askId(session, call.id, 1)
    return [
      { type: 'ask.requested', id, call: call.id, kind: 'shell', title: 't', detail: 'd', key: 'bash', pattern: 'x' },
    ]
  }
  if (writing.has(call.tool) && !call.started && choice % 2 === 0) return [{ type: 'call.started', call: call.id }]
  return [finished]
}

function answerOne(state: SessionState, choice: number): RecordBody[] {
  const waiting = state.calls.filter((call) => !call.result && (call.job || (call.ask && !call.ask.answer)))
  const call = waiting[choice % waiting.length]
  if (!call) return []
  if (call.job) {
    const result = { output: 'child', isError: false, how: 'ok' as const }
    return [{ type: 'call.finished', call: call.id, result, durationMs: 1, job: { ...call.job, state: 'completed' } }]
  }
  const answer = { decision: choice % 2 === 0 ? ('once' as const) : ('reject' as const) }
  return call.ask ? [{ type: 'ask.resolved', id: call.ask.id, call: call.id, answer, by: 'person' }] : []
}
