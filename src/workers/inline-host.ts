import type { WorkerId } from '../core/ids.ts'
import type { Host, HostOptions } from './host.ts'
import { createWorkerApi } from './session-host.ts'

const worker = 'inline' as WorkerId
const maxActivations = 256

/** Runs activations in the supervisor's own thread: for tests and debugging. State is copied, as a thread would. */
export function createInlineHost({ api, onLive }: HostOptions): Host {
  const sink = {
    emit: (fence: object, event: unknown) => onLive([{ ...fence, event } as never]),
    flush: () => undefined,
  }
  const workerApi = createWorkerApi(api, sink)
  let active = 0
  return {
    free: () => maxActivations - active,
    activate(task) {
      active += 1
      const ended = workerApi.activate(structuredClone(task)).finally(() => {
        active -= 1
      })
      const left = ended.then(ignore, ignore)
      return { worker, ended, left }
    },
    poke: (_worker, fence) => workerApi.poke(fence),
    cancel: (_worker, fence) => workerApi.cancel(fence),
    abandon: ignore,
    drain: ignore,
    warm: ignore,
    close: async () => undefined,
  }
}

function ignore(): void {
  // Nothing to do in the supervisor's own thread.
}
