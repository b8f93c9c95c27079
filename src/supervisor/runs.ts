import type { ErrorData } from '../core/errors.ts'
import type { RunJob, RunStatus, RuntimeEvent } from '../core/events.ts'
import type { SessionId } from '../core/ids.ts'
import type { Kernel } from './kernel.ts'
import { refOf, type SessionEntry } from './session-entry.ts'
import { usageOfTree } from './usage.ts'

export type RunFinished = Extract<RuntimeEvent, { type: 'run.finished' }>

/** Runs: from a prompt to a root until the root is idle and nothing under it is open. */
export type Runs = {
  /** Registers a run of a root; resolves with its last event. */
  begin(root: SessionId): Promise<RunFinished>
  has(root: SessionId): boolean
  /** The root's run goes on: what is said to it now is heard in it. */
  goesOn(root: SessionId): boolean
  /** Ends the root's run, if there is one, once everything it wrote is on the disk. `error`: what the journal does not say. */
  finish(entry: SessionEntry, status: RunStatus, error?: ErrorData): void
  /** What the run will end as, whatever the root's own end says: somebody stopped it. */
  mark(root: SessionId, status: RunStatus): void
}

export function createRuns(kernel: Kernel): Runs {
  const open = new Map<
    SessionId,
    { resolve: (event: RunFinished) => void; marked?: RunStatus; finishing?: RunStatus }
  >()

  async function close(entry: SessionEntry, status: RunStatus, failure?: ErrorData): Promise<void> {
    const { root } = entry.seed
    const run = open.get(root)
    if (!run || run.finishing) return
    run.finishing = status
    const error = (await syncTree(entry)) ?? failure
    if (status === 'done' && entry.waiting.size > 0) {
      run.finishing = undefined
      return kernel.placement.wake(entry)
    }
    open.delete(root)
    kernel.deadlines.stop(entry)
    run.resolve(announce(entry, error ? 'failed' : (run.marked ?? status), error))
  }

  /** The run's end is told only when all of it is on the disk. */
  async function syncTree(entry: SessionEntry): Promise<ErrorData | undefined> {
    const outcomes = await Promise.allSettled(kernel.treeOf(entry).map((one) => kernel.store.synced(refOf(one))))
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    return failed && { code: 'storage-failed', message: String(failed.reason?.message ?? failed.reason) }
  }

  function announce(entry: SessionEntry, status: RunStatus, failure?: ErrorData): RunFinished {
    const tree = kernel.treeOf(entry)
    const { root } = entry.seed
    const error = failure ?? entry.end?.error
    let finished: RunFinished | undefined
    const subscription = kernel.stream.events$.subscribe((event) => {
      if (event.type === 'run.finished' && event.root === root) finished = event
    })
    kernel.emit(entry, {
      type: 'run.finished',
      status,
      denied: kernel.asks.deniedIn(root),
      text: entry.end?.text ?? entry.text,
      usage: usageOfTree(kernel, entry),
      ...(error && { error: { code: error.code, message: error.message } }),
      jobs: tree.flatMap(jobsOf),
    })
    subscription.unsubscribe()
    kernel.asks.forget(root)
    return finished as RunFinished
  }

  return {
    begin(root) {
      return new Promise((resolve) => open.set(root, { resolve }))
    },
    has: (root) => open.has(root),
    goesOn(root) {
      const run = open.get(root)
      return run !== undefined && (run.finishing ?? 'done') === 'done'
    },
    finish: (entry, status, error) => void close(entry, status, error),
    mark(root, status) {
      const run = open.get(root)
      if (run) run.marked = status
    },
  }
}

function jobsOf(entry: SessionEntry): RunJob[] {
  return [...entry.jobs.values()].map(({ alias, agent, generation, state, delivered, undeliverable }) => ({
    alias,
    agent,
    generation,
    state: state ?? 'running',
    delivered: delivered && !undeliverable,
  }))
}
