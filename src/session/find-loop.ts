import type { CallResult } from '../core/records.ts'
import type { SessionState } from '../core/state.ts'

/** A session that goes round: the calls that repeat, as text for its model. */
export type Loop = { signature: string; text: string }

type Done = { tool: string; key: string }

/** Waiting is no loop, however often it is done. */
const patient = new Set(['task_wait', 'todoread'])

/**
 * Finds the same call with the same result three times in a row, or two such calls in turn repeated three times, at the
 * end of what a session has done. Polling whose result changes is no loop.
 */
export function findLoop(state: SessionState): Loop | undefined {
  const done = lastCalls(state, 6)
  const last = done.slice(-3)
  if (last.length === 3 && last.every(({ key }) => key === last[0]?.key)) return loopOf(last.slice(0, 1), 3)
  const [a, b] = done
  const alternates = done.length === 6 && done.every(({ key }, index) => key === (index % 2 === 0 ? a?.key : b?.key))
  return alternates && a && b ? loopOf([a, b], 3) : undefined
}

function loopOf(calls: Done[], times: number): Loop {
  const tools = calls.map(({ tool }) => tool).join(' and ')
  const signature = calls
    .map(({ key }) => key)
    .sort()
    .join('|')
  const text = `You have made the same call (${tools}) ${times} times with the same result. Do something else, or finish with what you have: if it comes again, this session is stopped.`
  return { signature, text }
}

/** The newest calls with a result, oldest first. */
function lastCalls(state: SessionState, count: number): Done[] {
  const placed: Done[] = []
  const open = state.calls.flatMap((call) => (call.result ? [doneOf(call.tool, call.args, call.result)] : []))
  for (let index = state.history.length - 1; index >= 0 && placed.length + open.length < count; index -= 1) {
    const item = state.history[index]
    if (item?.kind === 'user' && item.seq > 0 && placed.length + open.length > 0) break
    if (item?.kind !== 'result' || patient.has(item.tool)) continue
    placed.unshift(doneOf(item.tool, argsOf(state, index, item.call), item.result))
  }
  return [...placed, ...open.filter(({ tool }) => !patient.has(tool))].slice(-count)
}

/** Arguments stand with the assistant message before the result. */
function argsOf(state: SessionState, from: number, id: string): unknown {
  for (let index = from; index >= 0; index -= 1) {
    const item = state.history[index]
    if (item?.kind === 'assistant') return item.calls.find((call) => call.id === id)?.args
  }
  return undefined
}

/** A call is looked at with each of the next turns. */
const known = new WeakMap<CallResult, Done>()

function doneOf(tool: string, args: unknown, result: CallResult): Done {
  const done = known.get(result) ?? { tool, key: `${tool} ${canonical(args)} ${result.output}` }
  known.set(result, done)
  return done
}

/** JSON with sorted keys: the order of arguments makes no other call. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(',')}}`
}
