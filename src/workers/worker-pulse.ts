import { getHeapStatistics, promiseHooks } from 'node:v8'
import { pulseWord, recentTickets } from './pulse.ts'
import { ownThreadId } from './thread-load.ts'

/** The worker's side of its pulse. */
export type WorkerPulse = {
  /** Runs an activation; whatever its promises go on with later counts as its code. Beats until it is over. */
  during<T>(ticket: number, run: () => Promise<T>): Promise<T>
}

const beatMs = 200
const ticketKey = Symbol('ticket')
type Marked = { [ticketKey]?: number }

/**
 * Makes this thread write into shared memory that its event loop turns, and whose code it runs. A thread that is blocked
 * can answer no question; the promise hooks of V8 (about 0.3 us a promise) let its host read the answer all the same. What
 * a bare timer or socket callback does is nobody's. Call it once per thread.
 */
export function createWorkerPulse(memory: SharedArrayBuffer): WorkerPulse {
  const words = new Int32Array(memory)
  words[pulseWord.thread] = ownThreadId()
  let current = 0
  let last = 0
  let switches = 0
  let active = 0
  let isDying = false
  let timer: NodeJS.Timeout | undefined

  function enter(ticket: number): void {
    if (isDying) return
    current = ticket
    words[pulseWord.current] = ticket
    if (ticket === 0 || ticket === last) return
    last = ticket
    words[pulseWord.recent + (switches & (recentTickets - 1))] = ticket
    switches += 1
    words[pulseWord.switches] = switches
  }

  function beat(): void {
    const { used_heap_size, external_memory } = getHeapStatistics()
    words[pulseWord.heapMb] = used_heap_size / 2 ** 20
    words[pulseWord.externalMb] = external_memory / 2 ** 20
    Atomics.add(words, pulseWord.beats, 1)
  }

  promiseHooks.createHook({
    init(promise) {
      if (current !== 0) (promise as Marked)[ticketKey] = current
    },
    before: (promise) => enter((promise as Marked)[ticketKey] ?? 0),
    after: () => enter(0),
  })
  // Node reports it only after the code that caused it is through: say whose it was, then die of it as usual.
  process.on('unhandledRejection', (reason, promise) => {
    enter((promise as Marked)[ticketKey] ?? 0)
    isDying = true
    throw reason
  })

  return {
    async during(ticket, run) {
      active += 1
      beat()
      timer ??= setInterval(beat, beatMs)
      try {
        return await startAs(ticket, run)
      } finally {
        active -= 1
        if (active === 0) {
          clearInterval(timer)
          timer = undefined
        }
      }
    },
  }

  function startAs<T>(ticket: number, run: () => Promise<T>): Promise<T> {
    const before = current
    enter(ticket)
    try {
      return run()
    } finally {
      enter(before)
    }
  }
}
