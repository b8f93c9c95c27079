import type { RestartPolicy } from '../core/agent.ts'

/** What counts for an agent that says nothing: three restarts within a minute. */
export const defaultRestart: RestartPolicy = { restart: 'transient', maxRestarts: 3, periodMs: 60_000 }

/** Milliseconds: the longest wait before the first restart doubles with each further one, up to a bound. */
const firstBackoffMs = 500
const maxBackoffMs = 10_000

export type Crash = {
  policy?: Partial<RestartPolicy>
  /** When the session was restarted before, monotonic milliseconds, oldest first. */
  restartedAt: readonly number[]
  now: number
  /** Between 0 and 1. */
  random: number
  reason: string
}

/** `restartedAt` replaces the crash's. `why` is for the parent's model and for people. */
export type RestartDecision =
  | { restart: true; delayMs: number; restartedAt: number[] }
  | { restart: false; code: 'crashed' | 'restarted-too-often'; why: string }

/**
 * Whether a session that crashed is started again, and when: exponential backoff with full jitter (AWS Architecture Blog,
 * "Exponential Backoff And Jitter", 2015). A session that ends as it should is over under every policy.
 */
export function decideRestart({ policy, restartedAt, now, random, reason }: Crash): RestartDecision {
  const { restart, maxRestarts, periodMs } = { ...defaultRestart, ...policy }
  if (restart === 'temporary') {
    return { restart: false, code: 'crashed', why: `It crashed and is not restarted (restart: temporary): ${reason}` }
  }
  const recent = restartedAt.filter((at) => now - at < periodMs)
  if (recent.length >= maxRestarts) {
    const count = `${recent.length + 1} ${recent.length === 0 ? 'time' : 'times'}`
    const why = `It crashed ${count} within ${periodMs / 1000} s, and ${maxRestarts} restarts are allowed in that time. The last reason: ${reason}`
    return { restart: false, code: 'restarted-too-often', why }
  }
  const bound = Math.min(maxBackoffMs, firstBackoffMs * 2 ** recent.length)
  return { restart: true, delayMs: random * bound, restartedAt: [...recent, now] }
}

/** Whether a turn that the model could not answer, retries included, is a reason to start the session again. */
export function restartsFailures(policy: Partial<RestartPolicy> | undefined): boolean {
  return policy?.restart === 'permanent'
}
