import type { Clock } from '../core/clock.ts'
import type { RuntimeError } from '../core/errors.ts'

/** Something that is written to: `changes` counts the writes, `onDisk` how many of them are known to be on the disk. */
export type SyncTarget = {
  changes: number
  onDisk: number
  /** Set once a sync failed: nothing is known of the disk any more. */
  failure?: RuntimeError
  waiters?: { upto: number; resolve: () => void; reject: (error: RuntimeError) => void }[]
}

/** Brings what was written to the disk in the background, grouped, so that nobody pays for a sync of his own. */
export interface SyncQueue<Target extends SyncTarget> {
  /** The target was written to: it is synced soon. */
  mark(target: Target): void
  /** Resolves when all changes so far are on the disk; starts at once. Rejects with the target's failure. */
  wait(target: Target): Promise<void>
  /** Resolves when nothing is left to sync; never rejects. */
  drain(): Promise<void>
}

type SyncQueueOptions<Target> = {
  clock: Clock
  /** Longest time before a marked target's sync starts. */
  delayMs: number
  /** Syncs at the same time: they share libuv's few threads with every other file access of the process. */
  width: number
  /** Must reject with a `RuntimeError` only. */
  sync: (target: Target) => Promise<void>
  onFailure: (target: Target, error: RuntimeError) => void
}

export function createSyncQueue<Target extends SyncTarget>(options: SyncQueueOptions<Target>): SyncQueue<Target> {
  const { clock, delayMs, width, sync, onFailure } = options
  const marked = new Set<Target>()
  const due = new Set<Target>()
  const urgent = new Set<Target>()
  const running = new Set<Target>()
  let timer: (() => void) | undefined
  let drained: (() => void)[] = []

  function mark(target: Target): void {
    target.changes += 1
    marked.add(target)
    timer ??= clock.after(delayMs, onTimer)
  }

  function onTimer(): void {
    timer = undefined
    for (const target of marked) due.add(target)
    marked.clear()
    pump()
  }

  function wait(target: Target): Promise<void> {
    if (target.failure !== undefined) return Promise.reject(target.failure)
    if (target.onDisk >= target.changes) return Promise.resolve()
    return new Promise((resolve, reject) => {
      target.waiters ??= []
      target.waiters.push({ upto: target.changes, resolve, reject })
      urgent.add(target)
      pump()
    })
  }

  function pump(): void {
    while (running.size < width) {
      const target = next(urgent) ?? next(due)
      if (target === undefined) break
      void run(target)
    }
    if (drained.length > 0 && running.size + due.size + urgent.size + marked.size === 0) {
      for (const resolve of drained) resolve()
      drained = []
    }
  }

  /** Takes the first target that is not being synced; one that is comes back when that sync is over. */
  function next(queue: Set<Target>): Target | undefined {
    for (const target of queue) {
      if (running.has(target)) continue
      for (const other of [urgent, due, marked]) other.delete(target)
      return target
    }
    return undefined
  }

  async function run(target: Target): Promise<void> {
    running.add(target)
    const upto = target.changes
    try {
      if (target.failure === undefined && target.onDisk < upto) await sync(target)
      target.onDisk = Math.max(target.onDisk, upto)
    } catch (error) {
      fail(target, error as RuntimeError)
    }
    running.delete(target)
    settle(target)
    pump()
  }

  function fail(target: Target, error: RuntimeError): void {
    target.failure = error
    onFailure(target, error)
  }

  function settle(target: Target): void {
    const { waiters, failure, onDisk } = target
    if (waiters === undefined) return
    const early = waiters.filter(({ upto }) => failure === undefined && upto > onDisk)
    target.waiters = early.length === 0 ? undefined : early
    if (early.length > 0) urgent.add(target)
    for (const { upto, resolve, reject } of waiters) {
      if (failure !== undefined) reject(failure)
      else if (upto <= onDisk) resolve()
    }
  }

  function drain(): Promise<void> {
    timer?.()
    timer = undefined
    const done = new Promise<void>((resolve) => drained.push(resolve))
    onTimer()
    return done
  }

  return { mark, wait, drain }
}
