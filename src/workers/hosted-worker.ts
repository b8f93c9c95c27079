import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { expose, releaseProxy, wrap } from 'comlink'
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs'
import { RuntimeError } from '../core/errors.ts'
import type { SessionId, WorkerId } from '../core/ids.ts'
import type { ActivationTask, Fence, LiveBatch, SupervisorApi, WorkerApi } from '../core/messages.ts'
import { createAboard } from './aboard.ts'
import { createDrainableEndpoint } from './drainable-endpoint.ts'
import type { HostOptions, Placed } from './host.ts'
import { newPulseMemory, type PulseReading, readPulse } from './pulse.ts'
import { type ExitReason, startThread, type ThreadOptions } from './start-thread.ts'
import type { ThreadAppend, WorkerPorts, WorkerReady } from './worker-entry.ts'

/** A worker thread as its host sees it. */
export type HostedWorker = {
  readonly id: WorkerId
  /** Activations on it. */
  readonly active: number
  readonly ready: boolean
  /** It takes nothing new: it was told to go, or an activation on it does not end. */
  readonly leaving: boolean
  activate(task: ActivationTask): Pick<Placed, 'ended' | 'left'>
  poke(fence: Fence): void
  cancel(fence: Fence): void
  abandon(fence: Fence): void
  drain(): void
  pulse(): PulseReading
  /** What its heap holds, in MB, asked from outside. */
  heapMb(): Promise<number | undefined>
  /** Share of the time since it was last asked in which its event loop was at work, from 0 to 1. */
  utilization(): number
  /** Ends the thread and tells its activations why, after its exit or one second, whichever is first. */
  kill(reason: ExitReason): void
  /** Ends the thread; nobody is told of a death. Resolves after its exit. */
  retire(): Promise<void>
}

/** Milliseconds that a thread gets to go once it was told to: a synchronous call of the system cannot be stopped. */
const exitPatienceMs = 1000

export function startWorker(id: WorkerId, options: HostOptions & ThreadOptions): HostedWorker {
  const aboard = createAboard()
  const wire = openWire(options)
  const thread = startThread(wire.ports, options)
  let leaving = false
  let retired = false
  let doom: ExitReason | undefined
  let isReported = false

  /** Rejects what was on it, once. */
  function report({ why, isMemory }: ExitReason): void {
    if (isReported) return
    isReported = true
    leaving = true
    const started = wire.ready()
    const error = new RuntimeError('worker-died', `Worker ${id} died: ${started ? why : `it could not start: ${why}`}`)
    const witnesses = aboard.witnesses(readPulse(wire.ports.pulse), { isCertain: !isMemory })
    if (!retired) options.onDied({ worker: id, error, started, ...witnesses })
    aboard.rejectAll(error)
  }

  function kill(reason: ExitReason): void {
    if (doom !== undefined) return
    doom = reason
    leaving = true
    thread.terminate()
    const timer = setTimeout(() => report(reason), exitPatienceMs)
    void thread.exited.then(() => clearTimeout(timer))
  }

  void thread.exited.then((reason) => {
    wire.drainAll()
    report(doom ?? reason)
    aboard.clear()
    wire.close()
  })
  // An error comes with the exit of the thread, but for one of the task alone.
  void thread.quit.then((why) => setTimeout(kill, exitPatienceMs, { why, isMemory: false }).unref())

  return {
    id,
    get active() {
      return aboard.size
    },
    get ready() {
      return wire.ready()
    },
    get leaving() {
      return leaving
    },
    activate: (task) => {
      const { session, epoch } = task
      return aboard.add({ session, epoch }, (ticket) => wire.remote.activate(task, ticket).catch(explain(session)))
    },
    poke: (fence) => void wire.remote.poke(fence).catch(ignoreDeath),
    cancel: (fence) => void wire.remote.cancel(fence).catch(ignoreDeath),
    abandon(fence) {
      leaving = true
      aboard.abandon(fence)
      if (aboard.expected > 0) return
      kill({ why: 'an activation did not end when it was cancelled', isMemory: false })
    },
    drain: wire.drain,
    pulse: () => readPulse(wire.ports.pulse),
    utilization: thread.utilization,
    heapMb: thread.heapMb,
    kill,
    async retire() {
      retired = true
      leaving = true
      thread.terminate()
      await thread.exited
    },
  }
}

/** The ports between host and worker, and what goes over them. */
function openWire(options: HostOptions) {
  const calls = new MessageChannel()
  const supervisor = new MessageChannel()
  const live = new MessageChannel()
  const remote = wrap<WorkerApi>(nodeEndpoint(calls.port1))
  const endpoint = createDrainableEndpoint(supervisor.port1)
  const ports: WorkerPorts = {
    calls: calls.port2,
    supervisor: supervisor.port2,
    live: live.port2,
    pulse: newPulseMemory(),
  }
  const own = [calls.port1, supervisor.port1, live.port1]
  let isReady = false

  function receive(message: LiveBatch | WorkerReady): void {
    if ('ready' in message) {
      isReady = true
      return
    }
    options.onLive(message.events)
    live.port1.postMessage({ acknowledged: message.batch })
  }

  function drain(): void {
    for (let next = receiveMessageOnPort(live.port1); next; next = receiveMessageOnPort(live.port1))
      receive(next.message)
  }

  expose(apiFor(options, drain), endpoint)
  live.port1.on('message', receive)
  for (const port of own) port.unref()

  return {
    ports,
    remote,
    ready: () => isReady,
    drain,
    /** What a thread sent before it went counts: a result that is here was not interrupted. */
    drainAll() {
      endpoint.drain()
      drain()
    },
    close() {
      remote[releaseProxy]()
      for (const port of own) port.close()
    },
  }
}

/** The supervisor's API for one thread: live events that come with a call are taken in before it, after those sent earlier. */
function apiFor({ api, onLive }: HostOptions, drain: () => void): SupervisorApi {
  return {
    ...api,
    append({ live, ...request }: ThreadAppend) {
      drain()
      if (live.length > 0) onLive(live)
      return api.append(request)
    },
  } as SupervisorApi
}

/** A task is plain data; what else gets into one is our bug, and the platform does not say whose. */
function explain(session: SessionId): (thrown: unknown) => never {
  return (thrown) => {
    if (!(thrown instanceof DOMException) || thrown.name !== 'DataCloneError') throw thrown
    const message = `The task of session ${session} cannot be sent to a worker: ${thrown.message}`
    throw new RuntimeError('internal', message, { cause: thrown })
  }
}

function ignoreDeath(): void {
  // A worker that is gone needs neither pokes nor cancels; its death is told to its activations.
}
