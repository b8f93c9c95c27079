import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads'
import { expose, type Remote, releaseProxy, wrap } from 'comlink'
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs'
import { Piscina } from 'piscina'
import { messageOf, RuntimeError } from '../core/errors.ts'
import type { WorkerId } from '../core/ids.ts'
import type { ActivationEnd, ActivationTask, LiveBatch, SupervisorApi, WorkerApi } from '../core/messages.ts'
import { keepErrorsWhole } from './comlink-errors.ts'
import type { Host, HostOptions } from './host.ts'
import type { ThreadAppend, WorkerPorts, WorkerReady } from './worker-entry.ts'

const maxActivationsPerWorker = 128

type Hosted = {
  id: WorkerId
  active: number
  ready: boolean
  remote: Remote<WorkerApi>
  live: MessagePort
  receive(message: LiveBatch | WorkerReady): void
  /** Rejects when the thread is gone; every call to it is raced against this, since comlink's would never settle. */
  gone: Promise<never>
  close(): void
}

export type ThreadHostOptions = HostOptions & { threads: number; memoryMb?: number; workerFile?: string }

/**
 * Runs activations on piscina's threads. Each thread gets one task, which hosts many activations until the end, so piscina
 * never holds a queue and the supervisor knows what runs where. A thread that dies is replaced at the next activation.
 */
export function createThreadHost(options: ThreadHostOptions): Host {
  keepErrorsWhole()
  const pool = createPool(options)
  const workers = new Map<WorkerId, Hosted>()
  let started = 0
  let closing = false

  function start(): Hosted {
    started += 1
    const hosted = startWorker({ pool, id: `w${started}` as WorkerId, options })
    workers.set(hosted.id, hosted)
    hosted.gone.catch((error) => {
      workers.delete(hosted.id)
      // Closing has released it already, and a proxy can be released once only.
      if (closing) return
      hosted.close()
      options.onDied(hosted.id, error)
    })
    return hosted
  }

  function place(): Hosted {
    const candidates = [...workers.values()].sort((a, b) => a.active - b.active || Number(b.ready) - Number(a.ready))
    return candidates[0] ?? start()
  }

  return {
    free: () => maxActivationsPerWorker * options.threads - sum([...workers.values()].map(({ active }) => active)),
    activate(task) {
      const hosted = place()
      return { worker: hosted.id, ended: activateOn(hosted, task) }
    },
    poke: (id, fence) => void workers.get(id)?.remote.poke(fence).catch(ignoreDeath),
    cancel: (id, fence) => void workers.get(id)?.remote.cancel(fence).catch(ignoreDeath),
    drain(id) {
      const hosted = workers.get(id)
      if (hosted) drainPort(hosted)
    },
    warm() {
      while (workers.size < options.threads) start()
    },
    async close() {
      closing = true
      for (const hosted of workers.values()) hosted.close()
      await pool.destroy()
    },
  }
}

function createPool({ threads, memoryMb, workerFile }: ThreadHostOptions): Piscina {
  return new Piscina({
    filename: workerFile ?? findWorkerFile(),
    minThreads: 0,
    maxThreads: threads,
    concurrentTasksPerWorker: 1,
    idleTimeout: 0,
    // The default, 'sync', freezes the event loop of a worker that has no piscina task.
    atomics: 'disabled',
    env: { ...process.env },
    ...(memoryMb && { resourceLimits: { maxOldGenerationSizeMb: memoryMb } }),
  })
}

/** The bundled entry: beside this file when this file is bundled too, else in `dist/`. */
function findWorkerFile(): string {
  const beside = fileURLToPath(new URL('worker-entry.js', import.meta.url))
  return existsSync(beside) ? beside : fileURLToPath(new URL('../../dist/worker-entry.js', import.meta.url))
}

function startWorker({ pool, id, options }: { pool: Piscina; id: WorkerId; options: ThreadHostOptions }): Hosted {
  const calls = new MessageChannel()
  const supervisor = new MessageChannel()
  const live = new MessageChannel()
  const remote = wrap<WorkerApi>(nodeEndpoint(calls.port1))
  const ports: WorkerPorts = { calls: calls.port2, supervisor: supervisor.port2, live: live.port2 }
  const task = pool.run(ports, { transferList: [calls.port2, supervisor.port2, live.port2] as never })
  const died = watchThread(pool)
  let closed = false
  const hosted: Hosted = {
    id,
    active: 0,
    ready: false,
    remote,
    live: live.port1,
    receive(message) {
      if ('ready' in message) {
        hosted.ready = true
        died.watch(message.threadId)
      } else {
        options.onLive(message.events)
        live.port1.postMessage({ acknowledged: message.batch })
      }
    },
    gone: goneOf(task, died.exit, id),
    close() {
      if (closed) return
      closed = true
      remote[releaseProxy]()
      for (const port of [calls.port1, supervisor.port1, live.port1]) port.close()
    },
  }
  expose(apiFor(hosted, options), nodeEndpoint(supervisor.port1))
  live.port1.on('message', hosted.receive)
  live.port1.unref()
  supervisor.port1.unref()
  calls.port1.unref()
  return hosted
}

/** The supervisor's API for one thread: live events that come with a call are taken in before it, after those sent earlier. */
function apiFor(hosted: Hosted, { api, onLive }: ThreadHostOptions): SupervisorApi {
  return {
    ...api,
    append({ live, ...request }: ThreadAppend) {
      drainPort(hosted)
      if (live.length > 0) onLive(live)
      return api.append(request)
    },
  } as SupervisorApi
}

/** The task's end comes before the thread's: leases may be released only after the exit itself. */
function watchThread(pool: Piscina) {
  let thread: Worker | undefined
  let exited: Promise<void> = Promise.resolve()
  return {
    watch(threadId: number) {
      thread = pool.threads.find((candidate) => candidate.threadId === threadId)
      if (!thread) return
      const watched = thread
      exited = new Promise((resolve) => watched.once('exit', () => resolve()))
    },
    exit: () => exited,
  }
}

async function goneOf(task: Promise<unknown>, exit: () => Promise<void>, id: WorkerId): Promise<never> {
  const reason = await task.then(
    () => 'it ended by itself',
    (thrown) => messageOf(thrown),
  )
  await exit()
  throw new RuntimeError('worker-died', `Worker ${id} died: ${reason}`)
}

async function activateOn(hosted: Hosted, task: ActivationTask): Promise<ActivationEnd> {
  hosted.active += 1
  try {
    return await Promise.race([hosted.remote.activate(task), hosted.gone])
  } finally {
    hosted.active -= 1
  }
}

function drainPort({ live, receive }: Hosted): void {
  for (let received = receiveMessageOnPort(live); received; received = receiveMessageOnPort(live))
    receive(received.message)
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function ignoreDeath(): void {
  // A worker that is gone needs neither pokes nor cancels; its death is reported by `gone`.
}
