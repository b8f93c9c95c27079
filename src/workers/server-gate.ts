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
  /** The server answered. */
  open(): void
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
  let state: 'open' | 'closed' | 'probing' = 'open'

  return {
    async pass(signal) {
      while (state !== 'open') {
        const leftMs = closedUntil - performance.now()
        if (leftMs <= 0 && state === 'closed') {
          state = 'probing'
          closedUntil = performance.now() + probeMs
          return
        }
        await sleep(
          Math.max(leftMs > 0 && state === 'closed' ? leftMs : 0, lookAgainMs) * (1 + Math.random() / 4),
          signal,
        )
        // A first one that never comes back, such as a cancelled one, keeps nobody out for ever.
        if (state === 'probing' && performance.now() > closedUntil) state = 'closed'
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
  }
}

/** How long the first one may take before another one tries, in milliseconds. */
const probeMs = 5000
