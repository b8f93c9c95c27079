import type { EventBody } from '../core/events.ts'
import type { Fence, LiveBatch } from '../core/messages.ts'

/** Takes a session's live events; the last step before they leave the thread. */
export interface LiveSink {
  emit(fence: Fence, event: EventBody): void
  /** Sends what is waiting, as far as the window allows. */
  flush(): void
}

/** A sink of a thread of its own. */
export interface ThreadSink extends LiveSink {
  /** What is waiting, for a message that goes out anyway; it comes after everything sent so far. */
  take(): LiveBatch['events']
  acknowledge(batch: number): void
  close(): void
}

export type BatchPort = { postMessage(batch: LiveBatch): void }

const maxBatchEvents = 64
const maxUnacknowledged = 4
const flushDelayMs = 25

/**
 * Batches live events over a raw port, since a port has no backpressure of its own: at most four batches are on their way;
 * meanwhile deltas of one session grow together, so what waits is bounded by what the models say.
 */
export function createLiveSink(port: BatchPort): ThreadSink {
  let waiting: LiveBatch['events'] = []
  let sent = 0
  let acknowledged = 0
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    while (waiting.length > 0 && sent - acknowledged < maxUnacknowledged) {
      sent += 1
      port.postMessage({ batch: sent, events: waiting.slice(0, maxBatchEvents) })
      waiting = waiting.slice(maxBatchEvents)
    }
  }

  return {
    emit(fence, event) {
      if (!mergeDelta(waiting, fence, event)) waiting.push({ ...fence, event })
      timer ??= setTimeout(flush, flushDelayMs)
    },
    flush,
    take() {
      clearTimeout(timer)
      timer = undefined
      const taken = waiting
      waiting = []
      return taken
    },
    acknowledge(batch) {
      acknowledged = Math.max(acknowledged, batch)
      if (waiting.length > 0) flush()
    },
    close: () => clearTimeout(timer),
  }
}

/** Appends a delta to the session's last waiting event if that is a delta of the same kind and turn. */
function mergeDelta(waiting: LiveBatch['events'], { session }: Fence, event: EventBody): boolean {
  if (event.type !== 'text.delta' && event.type !== 'thinking.delta') return false
  const last = waiting.findLast((other) => other.session === session)
  if (!last || last.event.type !== event.type || last.event.turn !== event.turn) return false
  last.event = { ...last.event, text: last.event.text + event.text }
  return true
}
