import { type ErrorData, RuntimeError, toErrorData } from '../core/errors.ts'
import type { ActivationEnd, ActivationTask } from '../core/messages.ts'
import { serverOf } from '../core/model.ts'
import type { SessionSeed } from '../core/records.ts'
import { spawnableFor } from '../definitions/spawnable.ts'
import type { Placed, WorkerDeath } from '../workers/host.ts'
import { levelsAbove } from './agent-chain.ts'
import type { Kernel } from './kernel.ts'
import type { LockOwner } from './locks.ts'
import { createRestarts } from './restarts.ts'
import type { SessionEntry } from './session-entry.ts'
import type { SlotOwner } from './slots.ts'
import { exhaustedBudget } from './usage.ts'

/** Decides what runs where: queues sessions, activates them, takes them back. */
export type Placement = {
  /** Makes sure that a session with something to do gets to it: pokes it at work, queues it otherwise. */
  wake(entry: SessionEntry): void
  /** Ends the bookkeeping of the present activation; its worker holds nothing for this epoch any more. */
  deactivate(entry: SessionEntry, status: 'idle' | 'suspended'): void
  /** Resolves when the session is at work no longer. */
  inactive(entry: SessionEntry): Promise<void>
  workerDied(death: WorkerDeath): void
  close(): void
}

/** Sessions that wait for a place on a shared worker, or for a worker of their own. */
type Line = { readonly alone: boolean; readonly queue: SessionEntry[]; starting: number }

export function createPlacement(kernel: Kernel): Placement {
  const shared: Line = { alone: false, queue: [], starting: 0 }
  const alone: Line = { alone: true, queue: [], starting: 0 }
  const restarts = createRestarts(kernel, enqueue)
  const idleWaiters = new Map<SessionEntry, (() => void)[]>()

  function wake(entry: SessionEntry): void {
    if (entry.stopping || entry.held || kernel.closing || entry.status === 'ended' || entry.status === 'queued') return
    if (entry.status === 'active') {
      if (entry.worker) kernel.host.poke(entry.worker, fenceOf(entry))
      return
    }
    restarts.forget(entry)
    entry.status = 'queued'
    enqueue(entry)
  }

  function enqueue(entry: SessionEntry): void {
    const line = restarts.needsOwnWorker(entry) ? alone : shared
    line.queue.push(entry)
    if (room(line) <= 0) kernel.noteJob(entry, 'queued')
    pump()
  }

  /** Sessions that are being prepared have not reached the host. */
  function room({ alone, starting }: Line): number {
    return kernel.host.free(alone) - starting
  }

  function pump(): void {
    for (const line of [shared, alone]) {
      while (line.queue.length > 0 && room(line) > 0) {
        const entry = line.queue.shift()
        if (entry?.status === 'queued' && !entry.stopping) void activate(entry, line)
      }
    }
  }

  async function activate(entry: SessionEntry, line: Line): Promise<void> {
    entry.status = 'active'
    entry.epoch += 1
    const owner = fenceOf(entry)
    try {
      const placed = await place(entry, line)
      if (!placed) return
      void placed.left.then(() => release(owner))
      finish(entry, owner.epoch, await placed.ended)
    } catch (thrown) {
      finish(entry, owner.epoch, failedStart(thrown))
    } finally {
      pump()
    }
  }

  async function place(entry: SessionEntry, line: Line): Promise<Placed | undefined> {
    const { epoch } = entry
    line.starting += 1
    try {
      const task = await prepare(entry)
      if (entry.epoch !== epoch || entry.status !== 'active') return undefined
      if (entry.stopping || kernel.closing) {
        park(entry, 'idle')
        return undefined
      }
      const placed = kernel.host.activate(task, line.alone)
      entry.worker = placed.worker
      kernel.emit(entry, { type: 'session.activated', epoch, worker: placed.worker })
      kernel.noteJob(entry, 'running')
      return placed
    } finally {
      line.starting -= 1
    }
  }

  async function prepare(entry: SessionEntry): Promise<ActivationTask> {
    const state = kernel.states.of(entry)
    entry.fresh = undefined
    entry.recent = []
    const { spec, slots } = await kernel.options.readyModel(modelRef(kernel, entry.seed))
    entry.contextTokens = spec.profile.contextTokens
    const { settings, agents, skills } = kernel.options
    const { session, root, agent } = entry.seed
    const working = kernel.workingAgent(agent)
    // A child in a folder of its own works on the same project.
    entry.memory ??= kernel.options.loadMemory?.(kernel.entry(root).seed.dir)
    return {
      session,
      epoch: entry.epoch,
      state,
      settings,
      model: spec,
      ...(slots !== null && { slot: { server: serverOf(spec), limit: slots } }),
      attempt: restarts.attemptOf(entry),
      spawnable: spawnableFor(agent, [...agents.values()]),
      skills,
      ...(entry.memory && { memory: entry.memory }),
      grants: kernel.grantsOf(entry),
      above: levelsAbove(kernel, entry),
      ...(working !== agent && { agent: working }),
      exhausted: exhaustedBudget(kernel, kernel.entry(root)),
      limits: entry.limits,
      outputDir: kernel.store.outputDir(session),
      snapshotDir: kernel.store.snapshotDir,
    }
  }

  /** Takes an activation's end, unless the session has been handed back or taken away before. */
  function finish(entry: SessionEntry, epoch: number, end: ActivationEnd): void {
    if (entry.epoch !== epoch || entry.status !== 'active') return
    park(entry, 'idle')
    if (entry.stopping || kernel.closing) return
    if (end.outcome === 'crashed') {
      kernel.states.drop(entry) // Nothing of what led to it is used again.
      return restarts.crashed(entry, end.error)
    }
    restarts.survived(entry)
    switch (end.outcome) {
      case 'failed':
        return restarts.failed(entry, end.error)
      case 'limit':
        kernel.emit(entry, { type: 'limit.reached', limit: end.limit, value: end.value })
        return void kernel.finishing.end(entry, { state: 'limit', error: limitError(end.limit, end.value) })
      default:
        return kernel.finishing.settle(entry)
    }
  }

  function park(entry: SessionEntry, status: 'idle' | 'suspended'): void {
    kernel.partials.flush(entry.seed.session)
    entry.worker = undefined
    entry.recent = []
    entry.running.clear()
    if (entry.status !== 'ended') entry.status = status
    const waiters = idleWaiters.get(entry) ?? []
    idleWaiters.delete(entry)
    for (const resolve of waiters) resolve()
  }

  /** Nothing of that epoch runs any more. */
  function release(owner: LockOwner & SlotOwner): void {
    kernel.locks.releaseAll(owner)
    kernel.slots.releaseAll(owner)
  }

  return {
    wake,
    deactivate(entry, status) {
      release(fenceOf(entry))
      restarts.survived(entry)
      park(entry, status)
    },
    inactive(entry) {
      if (entry.status !== 'active') return Promise.resolve()
      return new Promise((resolve) => {
        idleWaiters.set(entry, [...(idleWaiters.get(entry) ?? []), resolve])
      })
    },
    workerDied: restarts.workerDied,
    close: restarts.close,
  }
}

/** A model that was asked for counts for the root and for agents that name none; a scripted one plays every agent. */
export function modelRef(
  { options, workingAgent }: Kernel,
  seed: Pick<SessionSeed, 'agent' | 'model'> & { parent?: unknown },
): string {
  const override = options.modelOverride
  if (!override) return seed.model
  const { model } = workingAgent(seed.agent)
  return override.startsWith('scripted:') || !seed.parent || !model ? override : model
}

function fenceOf(entry: SessionEntry) {
  return { session: entry.seed.session, root: entry.seed.root, epoch: entry.epoch }
}

function failedStart(thrown: unknown): ActivationEnd {
  const error = toErrorData(thrown)
  if (error.code === 'worker-died' || error.code === 'internal') return { outcome: 'crashed', error }
  return { outcome: 'failed', error }
}

function limitError(limit: string, value: number): ErrorData {
  const message = `It reached its limit of ${limit} = ${value}. Raise it in the agent's file, the configuration or by flag.`
  return toErrorData(new RuntimeError('limit-reached', message))
}
