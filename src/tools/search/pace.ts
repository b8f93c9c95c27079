import { setImmediate } from 'node:timers/promises'

const sliceMs = 10

/** Lets long synchronous work give way: other sessions live on the same thread. */
export type Pace = {
  /** Call it between small steps. Yields to the event loop every 10 ms; rejects with the signal's reason. */
  breathe(): Promise<void> | undefined
}

export function createPace(signal: AbortSignal): Pace {
  let sliceEnd = performance.now() + sliceMs
  const rest = async () => {
    await setImmediate()
    signal.throwIfAborted()
    sliceEnd = performance.now() + sliceMs
  }
  return { breathe: () => (performance.now() < sliceEnd ? undefined : rest()) }
}
