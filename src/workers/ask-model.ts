import { RuntimeError, toErrorData } from '../core/errors.ts'
import type { EventBody } from '../core/events.ts'
import type { Model, ModelDelta, ModelReply, ModelRequest } from '../core/model.ts'
import { sleep } from './abortable.ts'
import type { ServerGate } from './server-gate.ts'

export type AskModelRequest = {
  model: Model
  /** The request of the given attempt, from 1; `nudge` is said last when the reply before was empty. */
  build(attempt: number, nudge?: string): ModelRequest
  /** Shared with all who ask the same server. */
  gate: ServerGate
  emit(event: EventBody): void
  onDelta(delta: ModelDelta): void
  signal: AbortSignal
}

const maxFaultRetries = 3
/** A reply that broke off had begun: asking for it again costs as much. */
const maxIncomplete = 1
const maxBadCalls = 2
const maxNudges = 2
const firstDelayMs = 500
const maxDelayMs = 20_000

/**
 * One usable reply: retries what may pass (a busy or failing server, a cut stream), samples again after a broken tool call,
 * and nudges a model that only thought. Rejects with the last error, or with the signal's reason.
 */
export async function askModel({ model, build, gate, emit, onDelta, signal }: AskModelRequest): Promise<ModelReply> {
  const heard = (delta: ModelDelta) => {
    gate.open()
    onDelta(delta)
  }
  const tries = { faults: 0, incomplete: 0, badCalls: 0, nudges: 0 }
  for (let attempt = 1; ; attempt += 1) {
    const nudge = tries.nudges > 0 ? nudgeText : undefined
    await gate.pass(signal)
    try {
      const reply = await model.stream(build(attempt, nudge), heard, signal)
      gate.open()
      if (isUsable(reply)) return reply
      tries.nudges += 1
      if (reply.finish === 'length' || tries.nudges > maxNudges) throw emptyReply(reply, tries.nudges)
      emit({
        type: 'model.retried',
        attempt: attempt + 1,
        delayMs: 0,
        error: toErrorData(emptyReply(reply, tries.nudges)),
      })
    } catch (thrown) {
      if (signal.aborted) gate.leave()
      signal.throwIfAborted()
      const delayMs = retryDelay(thrown, tries)
      if (isServerFault(thrown) && delayMs !== undefined) gate.close(delayMs)
      else gate.open()
      if (delayMs === undefined) throw thrown
      emit({ type: 'model.retried', attempt: attempt + 1, delayMs, error: toErrorData(thrown) })
      await sleep(delayMs, signal)
    }
  }
}

/** Not the fault of one request: it would meet others too. */
function isServerFault(thrown: unknown): boolean {
  return thrown instanceof RuntimeError && ['model-failed', 'model-unreachable'].includes(thrown.code)
}

const nudgeText =
  'Your last reply had neither text nor a tool call. Answer now: call a tool, or write your answer as text.'

function isUsable({ text, calls }: ModelReply): boolean {
  return text.trim() !== '' || calls.length > 0
}

function emptyReply({ finish }: ModelReply, times: number): RuntimeError {
  if (finish === 'length') {
    const message =
      'The model hit its output limit before it said anything. Raise num_predict, or turn thinking off for this agent.'
    return new RuntimeError('model-empty', message)
  }
  const often = times === 1 ? 'once' : `${times} times`
  return new RuntimeError('model-empty', `The model answered ${often} with neither text nor a tool call.`)
}

type Tries = { faults: number; incomplete: number; badCalls: number }

/** Milliseconds until the next try; `undefined`: not to be tried again. */
function retryDelay(thrown: unknown, tries: Tries): number | undefined {
  if (!(thrown instanceof RuntimeError)) return undefined
  if (thrown.code === 'model-bad-call') {
    tries.badCalls += 1
    return tries.badCalls <= maxBadCalls ? 0 : undefined
  }
  if (thrown.code === 'model-incomplete') {
    tries.incomplete += 1
    return tries.incomplete <= maxIncomplete ? fullJitter(tries.incomplete) : undefined
  }
  if (thrown.code !== 'model-failed' && thrown.code !== 'model-unreachable') return undefined
  tries.faults += 1
  if (tries.faults > maxFaultRetries) return undefined
  return retryAfter(thrown) ?? fullJitter(tries.faults)
}

function retryAfter(error: RuntimeError): number | undefined {
  const given = (error as { retryAfterMs?: unknown }).retryAfterMs
  return typeof given === 'number' && given >= 0 ? Math.min(given, 60_000) : undefined
}

/** Exponential backoff with full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter", 2015). */
function fullJitter(attempt: number): number {
  return Math.random() * Math.min(maxDelayMs, firstDelayMs * 2 ** attempt)
}
