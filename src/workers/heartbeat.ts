import type { Clock } from '../core/clock.ts'
import type { PulseReading } from './pulse.ts'

/** What is watched of a worker. */
export type Watched = {
  readonly active: number
  readonly ready: boolean
  readonly leaving: boolean
  pulse(): PulseReading
  kill(why: string): void
}

export type HeartbeatOptions = {
  clock: Clock
  workers(): Iterable<Watched>
  /** Memory outside the heap that a worker may hold, in MB. */
  maxExternalMb: number
}

/** Milliseconds. A blocked loop is found after `blockedMs` and at most two ticks: within 2 s. */
const tickMs = 200
const blockedMs = 1500
/** Our own loop came later than this: it, or the whole program, stood still, and the workers' silence proves nothing. */
const lateMs = 500
const startMs = 30_000

type Seen = { beats: number; at: number }

/** Ends workers whose event loop is blocked, that never get ready, or that hold too much memory outside their heap. */
export function createHeartbeat({ clock, workers, maxExternalMb }: HeartbeatOptions) {
  const seen = new Map<Watched, Seen>()
  let cancel: (() => void) | undefined
  let lastTick = 0

  function schedule(): void {
    lastTick = clock.monotonic()
    cancel = clock.after(tickMs, tick)
  }

  function tick(): void {
    const now = clock.monotonic()
    if (now - lastTick > tickMs + lateMs) for (const one of seen.values()) one.at = now
    const busy = [...workers()].filter((worker) => worker.active > 0 && !worker.leaving)
    for (const worker of seen.keys()) if (!busy.includes(worker)) seen.delete(worker)
    for (const worker of busy) check(worker, now)
    cancel = undefined
    if (busy.length > 0) schedule()
  }

  function check(worker: Watched, now: number): void {
    const { beats, externalMb } = worker.pulse()
    const before = seen.get(worker)
    if (!before || before.beats !== beats) seen.set(worker, { beats, at: now })
    const silentMs = now - (before?.beats === beats ? before.at : now)
    if (externalMb > maxExternalMb) {
      worker.kill(`it held ${externalMb} MB outside its heap (workerMemoryMb is ${maxExternalMb})`)
    } else if (worker.ready ? silentMs > blockedMs : silentMs > startMs) {
      worker.kill(worker.ready ? `its event loop was blocked for ${Math.round(silentMs)} ms` : 'it did not get ready')
    }
  }

  return {
    /** Something was placed on a worker: there is something to watch. */
    watch(): void {
      if (!cancel) schedule()
    },
    close(): void {
      cancel?.()
      cancel = undefined
    },
  }
}
