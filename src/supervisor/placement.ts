import { type ErrorData, RuntimeError, toErrorData } from '../core/errors.ts'
import type { ActivationEnd, ActivationTask } from '../core/messages.ts'
import { spawnableFor } from '../definitions/spawnable.ts'
import { fold } from '../session/fold.ts'
import type { Kernel } from './kernel.ts'
import { interruptedResult } from './recover.ts'
import { refOf, type SessionEntry } from './session-entry.ts'
import { exhaustedBudget } from './usage.ts'

const maxRestarts = 3

/** Decides what runs where: queues sessions, activates them, takes them back. */
export type Placement = {
  /** Makes sure that a session with something to do gets to it: pokes it at work, queues it otherwise. */
  wake(entry: SessionEntry): void
  /** Ends the bookkeeping of the present activation; its worker holds nothing for this epoch any more. */
  deactivate(entry: SessionEntry, status: 'idle' | 'suspended'): void
  /** Resolves when the session is at work no longer. */
  inactive(entry: SessionEntry): Promise<void>
}

export function createPlacement(kernel: Kernel): Placement {
  const queue: SessionEntry[] = []
  const idleWaiters = new Map<SessionEntry, (() => void)[]>()

  function wake(entry: SessionEntry): void {
    if (entry.stopping || entry.held || kernel.closing || entry.status === 'ended' || entry.status === 'queued') return
    if (entry.status === 'active') {
      if (entry.worker) kernel.host.poke(entry.worker, fenceOf(entry))
      return
    }
    entry.status = 'queued'
    queue.push(entry)
    if (kernel.host.free() <= 0) kernel.noteJob(entry, 'queued')
    pump()
  }

  function pump(): void {
    while (queue.length > 0 && kernel.host.free() > 0) {
      const entry = queue.shift()
      if (entry?.status === 'queued' && !entry.stopping) void activate(entry)
    }
  }

  async function activate(entry: SessionEntry): Promise<void> {
    entry.status = 'active'
    entry.epoch += 1
    const { epoch } = entry
    try {
      const task = await prepare(entry)
      if (entry.epoch !== epoch || entry.status !== 'active') return
      if (entry.stopping || kernel.closing) return deactivate(entry, 'idle')
      const { worker, ended } = kernel.host.activate(task)
      entry.worker = worker
      kernel.emit(entry, { type: 'session.activated', epoch, worker })
      kernel.noteJob(entry, 'running')
      finish(entry, epoch, await ended)
    } catch (thrown) {
      finish(entry, epoch, failedStart(thrown))
    } finally {
      pump()
    }
  }

  async function prepare(entry: SessionEntry): Promise<ActivationTask> {
    const records = entry.fresh ?? kernel.store.read(refOf(entry))
    entry.fresh = undefined
    entry.recent = []
    const state = fold(records)
    const { spec, slots } = await kernel.options.readyModel(modelRef(kernel, entry))
    const { settings, agents, skills } = kernel.options
    const { session, root, agent } = entry.seed
    return {
      session,
      epoch: entry.epoch,
      state,
      settings,
      model: spec,
      ...(slots !== null && { slot: { server: spec.provider === 'scripted' ? spec.path : spec.url, limit: slots } }),
      attempt: 1,
      spawnable: spawnableFor(agent, [...agents.values()]),
      skills,
      grants: kernel.entry(root).grants,
      exhausted: exhaustedBudget(kernel, kernel.entry(root)),
      outputDir: kernel.store.outputDir(session),
    }
  }

  /** Takes an activation's end, unless the session has been handed back or taken away before. */
  function finish(entry: SessionEntry, epoch: number, end: ActivationEnd): void {
    if (entry.epoch !== epoch || entry.status !== 'active') return
    deactivate(entry, 'idle')
    if (entry.stopping || kernel.closing) return
    switch (end.outcome) {
      case 'failed':
        return void kernel.finishing.end(entry, { state: 'failed', error: end.error })
      case 'limit':
        kernel.emit(entry, { type: 'limit.reached', limit: end.limit, value: end.value })
        return void kernel.finishing.end(entry, { state: 'limit', error: limitError(end.limit, end.value) })
      case 'crashed':
        return restart(entry, end.error)
      default:
        return kernel.finishing.settle(entry)
    }
  }

  function deactivate(entry: SessionEntry, status: 'idle' | 'suspended'): void {
    const owner = fenceOf(entry)
    kernel.locks.releaseAll(owner)
    kernel.slots.releaseAll(owner)
    kernel.partials.flush(entry.seed.session)
    entry.worker = undefined
    entry.recent = []
    if (entry.status !== 'ended') entry.status = status
    const waiters = idleWaiters.get(entry) ?? []
    idleWaiters.delete(entry)
    for (const resolve of waiters) resolve()
  }

  /** A worker died, or an activation with it: the journal is folded again, calls that had begun are answered. */
  function restart(entry: SessionEntry, error: ErrorData): void {
    entry.restarts += 1
    if (entry.restarts > maxRestarts) {
      const message = `It was started ${entry.restarts} times and failed each time; the last reason: ${error.message}`
      return void kernel.finishing.end(entry, { state: 'failed', error: { ...error, message } })
    }
    answerStarted(kernel, entry)
    const { epoch, restarts } = entry
    kernel.emit(entry, { type: 'session.restarted', epoch: epoch + 1, reason: error.message, restarts })
    wake(entry)
  }

  return {
    wake,
    deactivate,
    inactive(entry) {
      if (entry.status !== 'active') return Promise.resolve()
      return new Promise((resolve) => {
        idleWaiters.set(entry, [...(idleWaiters.get(entry) ?? []), resolve])
      })
    },
  }
}

/** Answers side-effecting calls that had begun, but for those whose process still runs outside the worker. */
export function answerStarted(kernel: Kernel, entry: SessionEntry): void {
  for (const call of [...entry.started]) {
    if (kernel.processes.has(entry.seed.session, call)) continue
    kernel.record(entry, [{ type: 'call.finished', call, result: interruptedResult(), durationMs: 0 }])
  }
}

/** A scripted model that was asked for plays every agent; another one plays those that name none. */
function modelRef({ options }: Kernel, { seed }: SessionEntry): string {
  const override = options.modelOverride
  if (!override) return seed.model
  return override.startsWith('scripted:') || !seed.agent.model ? override : seed.agent.model
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
