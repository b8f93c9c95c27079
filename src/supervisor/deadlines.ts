import { RuntimeError, toErrorData } from '../core/errors.ts'
import type { Kernel } from './kernel.ts'
import type { SessionEntry } from './session-entry.ts'

/** Bounds on a session's time. */
export type Deadlines = {
  /** Ends the session as `timed_out` after `timeoutMs`, with what it has; replaces an earlier bound. */
  start(entry: SessionEntry, timeoutMs: number): void
  stop(entry: SessionEntry): void
  close(): void
}

export function createDeadlines(kernel: Kernel): Deadlines {
  const timers = new Map<SessionEntry, () => void>()

  function stop(entry: SessionEntry): void {
    timers.get(entry)?.()
    timers.delete(entry)
  }

  return {
    start(entry, timeoutMs) {
      stop(entry)
      const expire = () => {
        timers.delete(entry)
        kernel.emit(entry, { type: 'limit.reached', limit: 'timeoutMs', value: timeoutMs })
        const error = new RuntimeError('timed-out', `It had ${timeoutMs} ms and did not finish in that time.`)
        void kernel.finishing.end(entry, { state: 'timed_out', error: toErrorData(error) })
      }
      timers.set(entry, kernel.clock.after(timeoutMs, expire))
    },
    stop,
    close() {
      for (const cancel of timers.values()) cancel()
      timers.clear()
    },
  }
}
