import { RuntimeError, toErrorData } from '../core/errors.ts'
import type { Kernel } from './kernel.ts'
import type { SessionEntry } from './session-entry.ts'

/** Bounds on a session's time. Their clocks stand still while a person is asked and while a model slot is awaited. */
export type Deadlines = {
  /** Ends the session as `timed_out` after `timeoutMs`, with what it has; replaces an earlier bound. */
  start(entry: SessionEntry, timeoutMs: number): void
  /** Stops the clocks of a session and of those above it, which wait with it; each pause needs its resume. */
  pause(entry: SessionEntry): void
  resume(entry: SessionEntry): void
  stop(entry: SessionEntry): void
  close(): void
}

type Bound = { timeoutMs: number; leftMs: number; pauses: number; runningSince: number; cancel?: () => void }

export function createDeadlines(kernel: Kernel): Deadlines {
  const bounds = new Map<SessionEntry, Bound>()
  const { clock } = kernel

  function run(entry: SessionEntry, bound: Bound): void {
    bound.runningSince = clock.monotonic()
    bound.cancel = clock.after(bound.leftMs, () => expire(entry, bound))
  }

  function halt(bound: Bound): void {
    bound.cancel?.()
    bound.cancel = undefined
    bound.leftMs = Math.max(0, bound.leftMs - (clock.monotonic() - bound.runningSince))
  }

  function expire(entry: SessionEntry, { timeoutMs }: Bound): void {
    bounds.delete(entry)
    kernel.emit(entry, { type: 'limit.reached', limit: 'timeoutMs', value: timeoutMs })
    const error = new RuntimeError('timed-out', `It had ${timeoutMs} ms and did not finish in that time.`)
    void kernel.finishing.end(entry, { state: 'timed_out', error: toErrorData(error) })
  }

  function stop(entry: SessionEntry): void {
    bounds.get(entry)?.cancel?.()
    bounds.delete(entry)
  }

  /** The session's own bound and those of the sessions above it. */
  function boundsAbove(entry: SessionEntry): [SessionEntry, Bound][] {
    const own = bounds.get(entry)
    const parent = kernel.parentOf(entry)
    return [...(own ? [[entry, own] as [SessionEntry, Bound]] : []), ...(parent ? boundsAbove(parent) : [])]
  }

  return {
    start(entry, timeoutMs) {
      stop(entry)
      const bound: Bound = { timeoutMs, leftMs: timeoutMs, pauses: 0, runningSince: 0 }
      bounds.set(entry, bound)
      run(entry, bound)
    },
    pause(entry) {
      for (const [, bound] of boundsAbove(entry)) {
        if (bound.pauses === 0) halt(bound)
        bound.pauses += 1
      }
    },
    resume(entry) {
      for (const [owner, bound] of boundsAbove(entry)) {
        if (bound.pauses === 0) continue
        bound.pauses -= 1
        if (bound.pauses === 0) run(owner, bound)
      }
    },
    stop,
    close() {
      for (const entry of [...bounds.keys()]) stop(entry)
    },
  }
}
