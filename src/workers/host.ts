import type { RuntimeError } from '../core/errors.ts'
import type { WorkerId } from '../core/ids.ts'
import type { ActivationEnd, ActivationTask, Fence, LiveBatch, SupervisorApi } from '../core/messages.ts'

/** What a host needs of the supervisor. */
export type HostOptions = {
  api: SupervisorApi
  onLive(events: LiveBatch['events']): void
  /** Called just before the activations of that worker reject. */
  onDied(death: WorkerDeath): void
}

/** A worker that went, and what is known of the reason. */
export type WorkerDeath = {
  worker: WorkerId
  /** Code `worker-died`; the message says why. */
  error: RuntimeError
  /** False: it never got so far as to run anything. */
  started: boolean
  /** Who was on it; those whose code ran last come first. */
  aboard: Fence[]
  /** Whose code it went with, if that is certain. */
  culprit?: Fence
}

/** An activation on its way. */
export type Placed = {
  worker: WorkerId
  /** Rejects with `worker-died` when its worker is gone, or does not go although it was told to. */
  ended: Promise<ActivationEnd>
  /** Resolves when nothing of it runs any more: it ended, or its thread has exited. Never rejects. */
  left: Promise<void>
}

/** Where activations run. */
export interface Host {
  /** How many more activations may be placed now, each `alone` or beside others; the supervisor queues the rest. */
  free(alone: boolean): number
  /** `alone`: on a worker of its own, which ends with it. */
  activate(task: ActivationTask, alone: boolean): Placed
  poke(worker: WorkerId, fence: Fence): void
  cancel(worker: WorkerId, fence: Fence): void
  /** It did not end when it was cancelled: its worker takes nothing new, and goes when the others on it are through. */
  abandon(worker: WorkerId, fence: Fence): void
  /** Takes in every live event that has arrived, so that none comes after the record that follows it. */
  drain(worker: WorkerId): void
  /** Starts a first thread, if there is none. */
  warm(): void
  /** Ends all threads; activations still running reject. */
  close(): Promise<void>
}
