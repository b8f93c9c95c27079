import { type Clock, systemClock } from '../core/clock.ts'
import type { WorkerId } from '../core/ids.ts'
import type { ActivationTask } from '../core/messages.ts'
import { keepErrorsWhole } from './comlink-errors.ts'
import { createHeartbeat } from './heartbeat.ts'
import type { Host, HostOptions, Placed } from './host.ts'
import { type HostedWorker, startWorker } from './hosted-worker.ts'
import { createGrowth } from './pool-growth.ts'

const maxActivationsPerWorker = 128
const closePatienceMs = 2000

export type ThreadHostOptions = HostOptions & {
  /** Threads that sessions share. */
  threads: number
  /** Threads besides them, each for one session alone; default 4. */
  aloneThreads?: number
  /** What a thread may hold in its heap, and outside of it, in MB; default 512. */
  memoryMb?: number
  /** The worker's program; default: the bundled one. */
  workerFile?: string
  clock?: Clock
}

/**
 * Runs activations on threads, each of which hosts many, so that the supervisor knows what runs where. A thread that dies,
 * or whose event loop is blocked for longer than 1.5 s, is replaced.
 */
export function createThreadHost(options: ThreadHostOptions): Host {
  keepErrorsWhole()
  const { threads, aloneThreads = 4, memoryMb = 512, clock = systemClock } = options
  const shared = new Map<WorkerId, HostedWorker>()
  const alone = new Map<WorkerId, HostedWorker>()
  const growth = createGrowth({ clock, workers: () => staying(), grow: () => warm(wanted + 1) })
  const heartbeat = createHeartbeat({ clock, workers: all, memoryMb })
  let started = 0
  /** Threads that are replaced when they go. */
  let wanted = 0
  let closing = false

  function* all(): Iterable<HostedWorker> {
    yield* shared.values()
    yield* alone.values()
  }

  function start(kind: Map<WorkerId, HostedWorker>): HostedWorker {
    started += 1
    const id = `w${started}` as WorkerId
    const worker = startWorker(id, {
      ...options,
      memoryMb,
      onDied(death) {
        kind.delete(id)
        if (closing) return
        options.onDied(death)
        if (death.started) warm(wanted)
      },
    })
    kind.set(id, worker)
    return worker
  }

  function staying(kind = shared): HostedWorker[] {
    return [...kind.values()].filter(({ leaving }) => !leaving)
  }

  function warm(count = 1): void {
    wanted = Math.max(wanted, Math.min(count, threads))
    for (let missing = wanted - staying().length; missing > 0; missing -= 1) start(shared)
  }

  function place(): HostedWorker {
    const candidates = staying().sort((a, b) => loadOf(a) - loadOf(b))
    return candidates[0] ?? start(shared)
  }

  function activateAlone(task: ActivationTask): Placed {
    const worker = start(alone)
    const { ended, left } = worker.activate(task)
    void left.then(async () => {
      await worker.retire()
      alone.delete(worker.id)
    })
    return { worker: worker.id, ended, left }
  }

  function find(id: WorkerId): HostedWorker | undefined {
    return shared.get(id) ?? alone.get(id)
  }

  return {
    free: (isAlone) =>
      isAlone
        ? aloneThreads - staying(alone).length
        : maxActivationsPerWorker * threads - staying().reduce((total, { active }) => total + active, 0),
    activate(task, isAlone) {
      heartbeat.watch()
      if (isAlone) return activateAlone(task)
      const worker = place()
      growth.watch()
      return { worker: worker.id, ...worker.activate(task) }
    },
    poke: (id, fence) => find(id)?.poke(fence),
    cancel: (id, fence) => find(id)?.cancel(fence),
    abandon(id, fence) {
      find(id)?.abandon(fence)
      warm(wanted)
    },
    drain: (id) => find(id)?.drain(),
    warm: () => warm(),
    async close() {
      closing = true
      heartbeat.close()
      growth.close()
      const gone = Promise.all([...all()].map((worker) => worker.retire()))
      await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, closePatienceMs).unref())])
    },
  }
}

/** A session would wait for a thread that is still starting: it gets some only when the others have many. */
const startingLoad = 8

function loadOf({ active, ready }: HostedWorker): number {
  return ready ? active : active + startingLoad
}
