import { type MessagePort, threadId } from 'node:worker_threads'
import { expose, wrap } from 'comlink'
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs'
import type { SupervisorApi } from '../core/messages.ts'
import { keepErrorsWhole } from './comlink-errors.ts'
import { createLiveSink } from './live-sink.ts'
import { createWorkerApi } from './session-host.ts'

/** What the host hands to a new thread. */
export type WorkerPorts = {
  /** The supervisor's calls come in here. */
  calls: MessagePort
  /** Our calls to the supervisor go out here. */
  supervisor: MessagePort
  /** Live events out, acknowledgements in. */
  live: MessagePort
}

/** What a worker says on its live port before the first batch. */
export type WorkerReady = { ready: true; threadId: number }

/** The one piscina task of a thread: hosts activations until the host closes the live port. */
export default function runWorker({ calls, supervisor, live }: WorkerPorts): Promise<void> {
  keepErrorsWhole()
  const sink = createLiveSink(live)
  const remote = wrap<SupervisorApi>(nodeEndpoint(supervisor)) as unknown as SupervisorApi
  expose(createWorkerApi(remote, sink), nodeEndpoint(calls))
  live.on('message', ({ acknowledged }: { acknowledged: number }) => sink.acknowledge(acknowledged))
  live.postMessage({ ready: true, threadId } satisfies WorkerReady)
  return new Promise((resolve) => {
    live.once('close', () => {
      sink.close()
      calls.close()
      supervisor.close()
      resolve()
    })
  })
}
