import { sleep } from './abortable.ts'

/**
 * What all sessions of a thread share about one model server: after a fault nobody asks it until its time is over, and then
 * one goes first, so that a hundred children do not run at a server that has just come back.
 */
export type ServerGate = {
  /** Resolves when the server may be asked, or rejects with the signal's reason. */
  pass(signal: AbortSignal): Promise<void>
  /** The server failed: nobody asks it for so long. */
  close(delayMs: number): void
  /** The server answers. */
  open(): void
  /** One who was let pass gives up: if it went first, another one may. */
  leave(): void
}

const gates = new Map<string, ServerGate>()

/** The gate of a server, by its address. */
export function gateOf(server: string): ServerGate {
  const known = gates.get(server)
  if (known) return known
  const gate = createGate()
  gates.set(server, gate)
  return gate
}

/** How long those who wait let the first one go ahead, in milliseconds. */
const lookAgainMs = 50

export function createGate(): ServerGate {
  let closedUntil = 0
  let probeUntil = 0
  let state: 'open' | 'closed' | 'probing' = 'open'

  return {
    async pass(signal) {
      while (state !== 'open') {
        const leftMs = closedUntil - performance.now()
        if (leftMs <= 0 && state === 'closed') {
          state = 'probing'
          probeUntil = performance.now() + probeMs
          return
        }
        await sleep(
          Math.max(leftMs > 0 && state === 'closed' ? leftMs : 0, lookAgainMs) * (1 + Math.random() / 4),
          signal,
        )
        // A first one whose answer is long in coming keeps nobody out for ever.
        if (state === 'probing' && performance.now() > probeUntil) state = 'closed'
      }
    },
    close(delayMs) {
      state = 'closed'
      closedUntil = Math.max(closedUntil, performance.now() + delayMs)
    },
    open() {
      state = 'open'
      closedUntil = 0
    },
    leave() {
      if (state === 'probing') state = 'closed'
    },
  }
}

/** How long the first one may take before another one tries, in milliseconds. */
const probeMs = 5000
