import type { AgentLimits } from '../core/agent.ts'
import type { CallId } from '../core/ids.ts'
import type { LimitReached } from '../core/records.ts'
import type { OpenCall, SessionState } from '../core/state.ts'
import { findLoop, type Loop } from './find-loop.ts'
import { fittingMessages } from './fitting-messages.ts'
import { reachedLimit } from './limits.ts'

/** What a session does next. */
export type Step =
  /** Open a turn that places these messages (by seq), then request. `room`: characters of results that it may place. */
  | { do: 'open-turn'; consumed: number[]; room?: number; final?: LimitReached; loop?: Loop }
  /** A turn is open and has no reply: ask the model. */
  | { do: 'request' }
  /** Start these calls now, side by side, in this order. */
  | { do: 'run'; calls: OpenCall[] }
  /** Calls are running here: wait for one to end. */
  | { do: 'wait' }
  /** Every unanswered call waits for something outside, or behind one that does. */
  | { do: 'suspend'; waitingFor: string[] }
  | { do: 'idle' }
  | { do: 'ended' }
  | { do: 'limit'; limit: string; value: number }

export type StepContext = {
  /** Calls that are running in this activation. */
  running: { has(call: CallId): boolean }
  /** Writing calls go one after the other; takes a canonical tool name. */
  isWriting(tool: string): boolean
  limits: AgentLimits
  /** Characters of results that one boundary may place, those of calls among them; one sub-agent's always is. */
  resultRoom?: number
  /** A bound of the whole run that has been reached. */
  exhausted?: LimitReached
}

/** The turn engine: from the state to what to do next. Pure. */
export function nextStep(state: SessionState, context: StepContext): Step {
  if (state.phase === 'ended') return { do: 'ended' }
  if (state.phase === 'requesting') return { do: 'request' }
  if (state.final && state.phase === 'idle') return { do: 'limit', ...state.final }
  const open = state.calls.filter((call) => !call.result)
  if (open.length > 0) return callStep(open, context)
  if (state.calls.length === 0 && state.mailbox.length === 0) return { do: 'idle' }
  return openTurn(state, context)
}

/** At a limit there is one last turn to sum up; of a loop the model is told once. */
function openTurn(state: SessionState, { limits, exhausted, resultRoom }: StepContext): Step {
  const loop = findLoop(state)
  const looping = loop && loop.signature === state.warned ? { limit: 'loop', value: loopLimit } : undefined
  const final = exhausted ?? reachedLimit(state, limits) ?? looping
  // After a last turn there is none to place the rest.
  if (final) return { do: 'open-turn', consumed: fittingMessages(state.mailbox), final }
  const room = resultRoom === undefined ? undefined : resultRoom - resultChars(state)
  return { do: 'open-turn', consumed: fittingMessages(state.mailbox, room), room, ...(loop && { loop }) }
}

function resultChars({ calls }: SessionState): number {
  return calls.reduce((sum, { result }) => sum + (result?.output.length ?? 0), 0)
}

/** The same call with the same result this often: warned, and stopped if it comes again. */
const loopLimit = 3

/** True while something outside has to happen before this call can go on. */
export function waitsOutside(call: OpenCall): boolean {
  return call.job !== undefined || call.wait !== undefined || (call.ask !== undefined && call.ask.answer === undefined)
}

/** Text of the last answer, or what there was of it. */
export function lastAnswer(state: SessionState): string {
  if (state.partial) return state.partial
  for (let index = state.history.length - 1; index >= 0; index -= 1) {
    const item = state.history[index]
    if (item?.kind === 'assistant' && item.text !== '') return item.text
  }
  return ''
}

/** Called for each of a message's calls, of which there may be a thousand: it asks `isWriting` only where that decides. */
function callStep(open: OpenCall[], { running, isWriting }: StepContext): Step {
  const free = open.filter((call) => !running.has(call.id) && !waitsOutside(call))
  if (free.length > 0) {
    const firstWrite = open.find((call) => isWriting(call.tool))
    const startable = free.filter((call) => call === firstWrite || !isWriting(call.tool))
    if (startable.length > 0) return { do: 'run', calls: startable }
  }
  if (open.some((call) => running.has(call.id))) return { do: 'wait' }
  return { do: 'suspend', waitingFor: open.filter(waitsOutside).map(waitName) }
}

function waitName(call: OpenCall): string {
  if (call.job) return call.job.job
  return call.wait ? `jobs ${call.wait.jobs.join(', ')}` : `ask ${call.ask?.id}`
}
