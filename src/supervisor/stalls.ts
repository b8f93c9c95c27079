import type { EventBody } from '../core/events.ts'
import type { Kernel } from './kernel.ts'
import type { SessionEntry } from './session-entry.ts'

/** Finds children that have stalled: their model says nothing, and no tool of theirs runs. */
export type Stalls = {
  /** A sign of life: a live event or a record. */
  heard(entry: SessionEntry, event?: EventBody['type']): void
  /** Silence before a slot is given is no stall. */
  waiting(entry: SessionEntry, isWaiting: boolean): void
  close(): void
}

type Pulse = { heardAt: number; runningTools: number; waiting: boolean; flagged: boolean }

const checkEveryMs = 100
/** A check that comes so late was not merely kept waiting by other work. */
const standstillMs = 500

/**
 * After `stallMs` of silence a child is shown as stalled; after as long again it is cancelled, and its parent gets what
 * it had. Only children with a `stallMs` are watched: the model's own time limits bound the others.
 */
export function createStalls(kernel: Kernel): Stalls {
  const pulses = new Map<SessionEntry, Pulse>()
  let cancelCheck: (() => void) | undefined
  let checkedAt = 0

  function pulseOf(entry: SessionEntry): Pulse {
    const known = pulses.get(entry)
    if (known) return known
    const pulse = { heardAt: kernel.clock.monotonic(), runningTools: 0, waiting: false, flagged: false }
    pulses.set(entry, pulse)
    if (!cancelCheck) scheduleCheck()
    return pulse
  }

  function scheduleCheck(): void {
    checkedAt = kernel.clock.monotonic()
    cancelCheck = kernel.clock.after(checkEveryMs, check)
  }

  function check(): void {
    cancelCheck = undefined
    forgive(kernel.clock.monotonic() - checkedAt - checkEveryMs)
    for (const [entry, pulse] of pulses) {
      if (entry.status !== 'active') pulses.delete(entry)
      else look(entry, pulse)
    }
    if (pulses.size > 0) scheduleCheck()
  }

  /** While this process itself stood still (stopped by a signal, a laptop asleep) nobody was silent. */
  function forgive(lateMs: number): void {
    if (lateMs < standstillMs) return
    for (const pulse of pulses.values()) pulse.heardAt += lateMs
  }

  function look(entry: SessionEntry, pulse: Pulse): void {
    const stallMs = stallMsOf(kernel, entry)
    if (stallMs === undefined || pulse.waiting || pulse.runningTools > 0) return
    const silentMs = kernel.clock.monotonic() - pulse.heardAt
    if (silentMs >= 2 * stallMs) {
      pulses.delete(entry)
      void kernel.stopping.cancelTree(entry, `It stalled: nothing came from its model for ${2 * stallMs} ms.`)
    } else if (silentMs >= stallMs && !pulse.flagged) {
      pulse.flagged = true
      kernel.noteJob(entry, 'running', `stalled: nothing came for ${stallMs} ms`)
      kernel.emit(entry, { type: 'limit.reached', limit: 'stallMs', value: stallMs })
    }
  }

  return {
    heard(entry, event) {
      if (!entry.seed.parent || stallMsOf(kernel, entry) === undefined) return
      const pulse = pulseOf(entry)
      pulse.heardAt = kernel.clock.monotonic()
      pulse.flagged = false
      if (event === 'tool.started') pulse.runningTools += 1
      if (event === 'tool.finished') pulse.runningTools = Math.max(0, pulse.runningTools - 1)
    },
    waiting(entry, isWaiting) {
      if (!entry.seed.parent || stallMsOf(kernel, entry) === undefined) return
      const pulse = pulseOf(entry)
      pulse.waiting = isWaiting
      pulse.heardAt = kernel.clock.monotonic()
    },
    close: () => cancelCheck?.(),
  }
}

function stallMsOf({ options }: Kernel, { seed }: SessionEntry): number | undefined {
  return seed.limits.stallMs ?? seed.agent.limits.stallMs ?? options.settings.limits.stallMs
}
