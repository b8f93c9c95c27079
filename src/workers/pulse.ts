/**
 * Memory that a worker shares with its host, so that it can be read also while the worker's event loop is blocked, and
 * after its death. A ticket is the number, from 1, that the host gives to an activation.
 */
export type PulseReading = {
  /** Rises while the event loop turns and there is something to do. */
  beats: number
  /** Whose code is running, or was when the thread went; 0: nobody's. */
  current: number
  /** Whose code ran last, newest first. */
  recent: number[]
  /** What its heap held at its last beat, in MB. */
  heapMb: number
  /** The same of Buffers and other memory outside the heap, which no heap limit counts. */
  externalMb: number
  /** The system's number of the thread; 0: unknown. */
  thread: number
}

/** Indices of 32-bit words; `recent` is the first of a ring, `switches` counts what was written to it. */
export const pulseWord = { beats: 0, current: 1, externalMb: 2, switches: 3, thread: 4, heapMb: 5, recent: 6 } as const
/** A power of two. */
export const recentTickets = 16

export function newPulseMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer((pulseWord.recent + recentTickets) * Int32Array.BYTES_PER_ELEMENT)
}

export function readPulse(memory: SharedArrayBuffer): PulseReading {
  const words = new Int32Array(memory)
  const word = (index: number) => Atomics.load(words, index)
  const switches = word(pulseWord.switches)
  const ring = Array.from({ length: recentTickets }, (_, age) =>
    word(pulseWord.recent + ((switches - 1 - age) & (recentTickets - 1))),
  )
  return {
    beats: word(pulseWord.beats),
    current: word(pulseWord.current),
    recent: [...new Set(ring)].filter((ticket) => ticket !== 0),
    heapMb: word(pulseWord.heapMb),
    externalMb: word(pulseWord.externalMb),
    thread: word(pulseWord.thread),
  }
}
