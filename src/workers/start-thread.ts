import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { HeapInfo } from 'node:v8'
import type { Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { messageOf } from '../core/errors.ts'
import type { WorkerPorts } from './worker-entry.ts'

export type ThreadOptions = {
  /** What a thread may hold in its heap, and outside of it, in MB. */
  memoryMb: number
  /** The worker's program; default: the bundled one. */
  workerFile?: string
}

/** `isMemory`: what ran last may be the one that tripped over what another hoards. */
export type ExitReason = { why: string; isMemory: boolean }

/** A thread that runs the worker's entry as its one task. */
export type Thread = {
  /** Resolves after its exit, with what is known of the reason. Rejects never. */
  exited: Promise<ExitReason>
  /** Its task ended although the thread lives: it can host nothing. Resolves with the reason, or never. */
  quit: Promise<string>
  /** Share of the time since it was last asked in which its event loop was at work, from 0 to 1. */
  utilization(): number
  /** What its heap holds, in MB, also while its event loop is blocked; undefined where Node cannot tell (before 22.16). */
  heapMb(): Promise<number | undefined>
  /** Tells it to go. It may be stuck in a synchronous call of the system: nothing here waits for it. */
  terminate(): void
}

/**
 * At V8's own limit a thread ends with an error, or the whole program with it (https://github.com/nodejs/node/issues/47224).
 * So the host looks after the heap itself, and V8's limit, that much higher, is for what grows faster than it looks.
 */
const heapHeadroom = 1.5

/**
 * Starts a thread in a piscina pool of its own. A pool of several cannot say which of its threads will take a task, and a
 * task whose thread dies at its start stays in the pool's queue for ever.
 */
export function startThread(ports: WorkerPorts, { memoryMb, workerFile }: ThreadOptions): Thread {
  const pool = new Piscina({
    filename: workerFile ?? findWorkerFile(),
    minThreads: 0,
    maxThreads: 1,
    concurrentTasksPerWorker: 1,
    idleTimeout: 60_000,
    // The default, 'sync', freezes the event loop of a worker that has no piscina task.
    atomics: 'disabled',
    env: { ...process.env },
    // Flags of the program, such as --input-type, can keep a worker from starting.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb * heapHeadroom },
  })
  // Told by the thread's own events.
  pool.on('error', () => undefined)
  const task = pool.run(ports, { transferList: [ports.calls, ports.supervisor, ports.live] as never })
  const thread = pool.threads[0]
  if (!thread) throw new Error('piscina started no thread')
  let thrown: unknown
  let hasThrown = false
  thread.once('error', (error) => {
    thrown = error
    hasThrown = true
  })
  const quit = new Promise<string>((resolve) => {
    task.then(
      () => resolve('its program ended by itself'),
      (error) => resolve(messageOf(error)),
    )
  })
  const exited = exitOf(thread).then((code) => {
    void pool.destroy()
    return hasThrown ? describe(thrown, memoryMb) : { why: `it exited with code ${code}`, isMemory: false }
  })
  return {
    exited,
    quit,
    utilization: utilizationOf(thread),
    heapMb: () => heapOf(thread),
    terminate: () => void pool.destroy(),
  }
}

async function heapOf(thread: Worker & { getHeapStatistics?(): Promise<HeapInfo> }): Promise<number | undefined> {
  try {
    const heap = await thread.getHeapStatistics?.()
    return heap && heap.used_heap_size / 2 ** 20
  } catch {
    return undefined // It has gone meanwhile.
  }
}

function utilizationOf({ performance }: Worker): () => number {
  let before = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    return utilization
  }
}

function exitOf(thread: Worker): Promise<number> {
  return new Promise((resolve) => thread.once('exit', resolve))
}

function describe(thrown: unknown, memoryMb: number): ExitReason {
  const isMemory = thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return { why: isMemory ? `it ran out of memory (workerMemoryMb is ${memoryMb})` : messageOf(thrown), isMemory }
}

/** The bundled entry: beside this file when this file is bundled too, else in `dist/`. */
function findWorkerFile(): string {
  const beside = fileURLToPath(new URL('worker-entry.js', import.meta.url))
  return existsSync(beside) ? beside : fileURLToPath(new URL('../../dist/worker-entry.js', import.meta.url))
}
