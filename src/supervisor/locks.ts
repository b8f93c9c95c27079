import { RuntimeError } from '../core/errors.ts'
import type { SessionId } from '../core/ids.ts'

/** An activation: what its worker held is released when that worker has exited. */
export type LockOwner = { session: SessionId; epoch: number }

/** One lock per absolute path, across all threads. */
export interface Locks {
  /**
   * Resolves when the lock is held, in the order in which they asked. Not reentrant. Rejects with `fenced` when the
   * owner gives up before.
   */
  acquire(path: string, owner: LockOwner): Promise<void>
  /** Gives the lock to the next in line, or takes the owner out of the line. What is not the owner's stays as it is. */
  release(path: string, owner: LockOwner): void
  /** Only after the worker of that epoch has exited or given the session back: until then it may be writing. */
  releaseAll(owner: LockOwner): void
  /** Paths that are locked. */
  readonly size: number
}

type Waiting = { owner: LockOwner; resolve(): void; reject(error: RuntimeError): void }
type Line = { holder: LockOwner; waiting: Waiting[] }

/** Holds nothing that must be closed. */
export function createLocks(): Locks {
  const lines = new Map<string, Line>()

  function pass(path: string, line: Line): void {
    const next = line.waiting.shift()
    if (next === undefined) {
      lines.delete(path)
      return
    }
    line.holder = next.owner
    next.resolve()
  }

  return {
    acquire(path, owner) {
      const line = lines.get(path)
      if (line === undefined) {
        lines.set(path, { holder: owner, waiting: [] })
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => line.waiting.push({ owner, resolve, reject }))
    },
    release(path, owner) {
      const line = lines.get(path)
      if (line === undefined) return
      if (isSame(line.holder, owner)) pass(path, line)
      else leave(line, owner)
    },
    releaseAll(owner) {
      for (const [path, line] of [...lines]) {
        leave(line, owner)
        if (isSame(line.holder, owner)) pass(path, line)
      }
    },
    get size() {
      return lines.size
    },
  }
}

function leave(line: Line, owner: LockOwner): void {
  const leaving = line.waiting.filter((waiting) => isSame(waiting.owner, owner))
  line.waiting = line.waiting.filter((waiting) => !isSame(waiting.owner, owner))
  for (const { reject } of leaving) reject(fenced(owner))
}

function isSame(one: LockOwner, other: LockOwner): boolean {
  return one.session === other.session && one.epoch === other.epoch
}

function fenced({ session, epoch }: LockOwner): RuntimeError {
  return new RuntimeError('fenced', `Epoch ${epoch} of session ${session} is over: it no longer waits for a lock.`)
}
