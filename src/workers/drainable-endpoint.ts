import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { Endpoint } from 'comlink'

type Listener = (event: { data: unknown }) => void

/** Lets comlink speak over a port of worker_threads, and take in at once what has arrived there. */
export type DrainableEndpoint = Endpoint & {
  /** A thread that has exited may have sent more than was taken in by then. */
  drain(): void
}

export function createDrainableEndpoint(port: MessagePort): DrainableEndpoint {
  const listeners = new Map<unknown, Listener>()
  const give = (data: unknown) => {
    for (const listener of [...listeners.values()]) listener({ data })
  }
  port.on('message', give)
  return {
    postMessage: (message, transfer) => port.postMessage(message, transfer as never),
    addEventListener(_type, listener) {
      const call = typeof listener === 'function' ? listener : listener.handleEvent.bind(listener)
      listeners.set(listener, call as unknown as Listener)
    },
    removeEventListener: (_type, listener) => void listeners.delete(listener),
    drain() {
      for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) give(next.message)
    },
  }
}
