import type { Clock } from '../core/clock.ts'
import type { PulseReading } from './pulse.ts'
import type { ExitReason } from './start-thread.ts'
import { loadOfThread, type ThreadLoad } from './thread-load.ts'

/** What is watched of a worker. */
export type Watched = {
  readonly active: number
  readonly ready: boolean
  readonly leaving: boolean
  pulse(): PulseReading
  /** What its heap holds, asked from outside; undefined when nobody can tell. */
  heapMb(): Promise<number | undefined>
  kill(reason: ExitReason): void
}

export type HeartbeatOptions = {
  clock: Clock
  workers(): Iterable<Watched>
  /** What a worker may hold in its heap, and outside of it, in MB. */
  memoryMb: number
  /** What a worker's thread has had of the processor; default: what the system says. */
  loadOf?(thread: number): ThreadLoad | undefined
}

/** Milliseconds. A blocked loop is found after `blockedMs` and at most two ticks: within 2 s. */
const tickMs = 200
const blockedMs = 1500
/** No step of ours computes for so long: a worker that did, and has not beaten since, is blocked however little it gets. */
const maxStepCpuMs = 500
/** On a busy machine a worker is silent because it gets no turn. Then that is no reason to end it, up to this. */
const starvedMs = 20_000
/** Our own loop came later than this: it, or the whole program, stood still, and the workers' silence proves nothing. */
const lateMs = 500
const startMs = 30_000

/** `cpuMs`: what its thread had had by then; `isWaiting`: it has waited in the system at every look since. */
type Seen = { beats: number; ready: boolean; at: number; cpuMs?: number; isWaiting: boolean }

/** Ends workers whose event loop is blocked, that never get ready, or that hold too much memory. */
export function createHeartbeat({ clock, workers, memoryMb, loadOf = loadOfThread }: HeartbeatOptions) {
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
    const { beats, thread, heapMb, externalMb } = worker.pulse()
    const load = loadOf(thread)
    const { ready } = worker
    const before = seen.get(worker)
    const isSilent = before?.beats === beats && before.ready === ready
    if (!isSilent) seen.set(worker, { beats, ready, at: now, isWaiting: true, ...(load && { cpuMs: load.cpuMs }) })
    else before.isWaiting &&= load?.isWaiting === true
    const silentMs = isSilent ? now - before.at : 0
    const kill = (why: string) => worker.kill({ why, isMemory: false })
    if (heapMb > memoryMb) outOfMemory(worker, `its heap held ${heapMb} MB`)
    else if (externalMb > memoryMb) outOfMemory(worker, `it held ${externalMb} MB outside its heap`)
    else if (!ready) {
      if (silentMs > startMs) kill(`it was not ready after ${startMs / 1000} s`)
    } else if (silentMs > starvedMs || (silentMs > blockedMs && !isStarved(before, load))) {
      kill(`its event loop was blocked for ${Math.round(silentMs)} ms`)
    } else if (silentMs > tickMs) {
      void lookInto(worker)
    }
  }

  /** A worker that says nothing may be filling its heap. */
  async function lookInto(worker: Watched): Promise<void> {
    const heapMb = await worker.heapMb()
    if (heapMb !== undefined && heapMb > memoryMb && !worker.leaving) {
      outOfMemory(worker, `its heap held ${Math.round(heapMb)} MB`)
    }
  }

  function outOfMemory(worker: Watched, held: string): void {
    worker.kill({ why: `it ran out of memory: ${held} (workerMemoryMb is ${memoryMb})`, isMemory: true })
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

/** Neither has it computed for long, nor waited for something that does not come. */
function isStarved(before: Seen | undefined, now: ThreadLoad | undefined): boolean {
  if (before?.cpuMs === undefined || !now) return false
  return !before.isWaiting && now.cpuMs - before.cpuMs < maxStepCpuMs
}
