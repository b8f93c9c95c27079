import type { MessagePort } from 'node:worker_threads'
import { expose, wrap } from 'comlink'
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs'
import type { Appended, AppendRequest, LiveBatch, SupervisorApi } from '../core/messages.ts'
import { keepErrorsWhole } from './comlink-errors.ts'
import { createLiveSink, type ThreadSink } from './live-sink.ts'
import { createWorkerApi } from './session-host.ts'
import { createWorkerPulse } from './worker-pulse.ts'

/** What the host hands to a new thread. */
export type WorkerPorts = {
  /** The supervisor's calls come in here. */
  calls: MessagePort
  /** Our calls to the supervisor go out here. */
  supervisor: MessagePort
  /** Live events out, acknowledgements in. */
  live: MessagePort
  /** Where the thread writes its pulse. */
  pulse: SharedArrayBuffer
}

/** What a worker says on its live port before the first batch. */
export type WorkerReady = { ready: true }

/** An `append` of a thread takes along the live events that came before it. */
export type ThreadAppend = AppendRequest & { live: LiveBatch['events'] }

/** The one piscina task of a thread: hosts activations until the host closes the live port. */
export default function runWorker({ calls, supervisor, live, pulse }: WorkerPorts): Promise<void> {
  keepErrorsWhole()
  const sink = createLiveSink(live)
  expose(createWorkerApi(connect(supervisor, sink), sink, createWorkerPulse(pulse)), nodeEndpoint(calls))
  live.on('message', ({ acknowledged }: { acknowledged: number }) => sink.acknowledge(acknowledged))
  live.postMessage({ ready: true } satisfies WorkerReady)
  return new Promise((resolve) => {
    live.once('close', () => {
      sink.close()
      calls.close()
      supervisor.close()
      resolve()
    })
  })
}

/** The supervisor as a worker sees it. Comlink makes a proxy for each look-up of a method: of the one that counts, once. */
function connect(port: MessagePort, sink: ThreadSink): SupervisorApi {
  const remote = wrap<SupervisorApi>(nodeEndpoint(port)) as unknown as SupervisorApi
  const send = remote.append as (request: ThreadAppend) => Promise<Appended>
  const append = (request: AppendRequest) => send({ ...request, live: sink.take() })
  return new Proxy(remote, { get: (target, name) => (name === 'append' ? append : Reflect.get(target, name)) })
}
