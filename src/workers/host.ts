import type { WorkerId } from '../core/ids.ts'
import type { ActivationEnd, ActivationTask, Fence, LiveBatch, SupervisorApi } from '../core/messages.ts'

/** What a host needs of the supervisor. */
export type HostOptions = {
  api: SupervisorApi
  onLive(events: LiveBatch['events']): void
  /** Called after the thread's exit: nothing of it runs any more. */
  onDied(worker: WorkerId, error: Error): void
}

/** An activation on its way: `ended` rejects with `worker-died` when its worker is gone. */
export type Placed = { worker: WorkerId; ended: Promise<ActivationEnd> }

/** Where activations run. */
export interface Host {
  /** How many more activations may be placed now; the supervisor queues the rest. */
  free(): number
  activate(task: ActivationTask): Placed
  poke(worker: WorkerId, fence: Fence): void
  cancel(worker: WorkerId, fence: Fence): void
  /** Takes in every live event that has arrived, so that none comes after the record that follows it. */
  drain(worker: WorkerId): void
  /** Prepares for many activations: starts the threads that are missing. */
  warm(): void
  /** Ends all threads; activations still running reject. */
  close(): Promise<void>
}
