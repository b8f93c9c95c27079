/** Time as the runtime sees it; tests hand in their own. */
export interface Clock {
  /** Wall clock, milliseconds since 1970: for people and records. */
  now(): number
  /** Monotonic, milliseconds: for deadlines and durations. */
  monotonic(): number
  /** Calls back once after `delayMs`; returns what cancels it. The timer does not keep the process alive. */
  after(delayMs: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    timer.unref?.()
    return () => clearTimeout(timer)
  },
}
