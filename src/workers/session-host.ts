import type { ActivationEnd, ActivationTask, Fence, SupervisorApi, WorkerApi } from '../core/messages.ts'
import type { LiveSink } from './live-sink.ts'
import { runActivation } from './run-activation.ts'
import type { WorkerPulse } from './worker-pulse.ts'

type Running = { controller: AbortController; poke: () => void }

/** Runs any number of activations side by side in this thread. */
export function createWorkerApi(api: SupervisorApi, live: LiveSink, pulse?: WorkerPulse): WorkerApi {
  const running = new Map<string, Running>()

  async function run(task: ActivationTask): Promise<ActivationEnd> {
    const key = keyOf(task)
    const entry: Running = { controller: new AbortController(), poke: () => undefined }
    running.set(key, entry)
    const onPoke = (listener: () => void) => {
      entry.poke = listener
    }
    try {
      return await runActivation(task, { api, live, signal: entry.controller.signal, onPoke })
    } finally {
      live.flush()
      running.delete(key)
    }
  }

  return {
    activate: (task, ticket = 0) => (pulse ? pulse.during(ticket, () => run(task)) : run(task)),
    poke: (fence) => running.get(keyOf(fence))?.poke(),
    cancel: (fence) => running.get(keyOf(fence))?.controller.abort(cancelled()),
  }
}

function keyOf({ session, epoch }: Fence): string {
  return `${session}@${epoch}`
}

function cancelled(): DOMException {
  return new DOMException('The session was cancelled.', 'AbortError')
}
