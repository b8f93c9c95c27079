import type { Worker } from 'node:worker_threads'

/** Worker threads of this process. Close it. */
export type Threads = {
  /** Ends one; `part`, from 0 to below 1, says which. */
  endOne(part: number): void
  close(): void
}

/** Those that are started from now on. */
export function watchThreads(): Threads {
  const alive = new Set<Worker>()
  const take = (worker: Worker) => {
    alive.add(worker)
    worker.once('exit', () => alive.delete(worker))
  }
  process.on('worker', take)
  return {
    endOne(part) {
      void [...alive][Math.floor(part * alive.size)]?.terminate()
    },
    close: () => void process.off('worker', take),
  }
}
