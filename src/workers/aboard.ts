import type { RuntimeError } from '../core/errors.ts'
import type { ActivationEnd, Fence } from '../core/messages.ts'
import type { Placed, WorkerDeath } from './host.ts'
import type { PulseReading } from './pulse.ts'

type Passenger = {
  fence: Fence
  abandoned: boolean
  reject(error: RuntimeError): void
  leave(): void
}

/** The activations on one worker, by ticket. */
export type Aboard = {
  readonly size: number
  /** Those that are still expected to end by themselves. */
  readonly expected: number
  add(fence: Fence, run: (ticket: number) => Promise<ActivationEnd>): Pick<Placed, 'ended' | 'left'>
  abandon(fence: Fence): void
  rejectAll(error: RuntimeError): void
  /** The thread has exited. */
  clear(): void
  /** Who was there, those whose code ran last first; whose code it was in the end, if the death is of that kind. */
  witnesses(pulse: PulseReading, kind: { isCertain: boolean }): Pick<WorkerDeath, 'aboard' | 'culprit'>
}

export function createAboard(): Aboard {
  const passengers = new Map<number, Passenger>()
  let tickets = 0

  return {
    get size() {
      return passengers.size
    },
    get expected() {
      return [...passengers.values()].filter(({ abandoned }) => !abandoned).length
    },
    add(fence, run) {
      tickets += 1
      const ticket = tickets
      const departure: { signal?: () => void } = {}
      const left = new Promise<void>((resolve) => {
        departure.signal = resolve
      })
      const leave = () => {
        passengers.delete(ticket)
        departure.signal?.()
      }
      const ended = new Promise<ActivationEnd>((resolve, reject) => {
        passengers.set(ticket, { fence, abandoned: false, reject, leave })
        // A promise of comlink's whose worker has gone settles never; `reject` of the passenger does it then.
        run(ticket).finally(leave).then(resolve, reject)
      })
      return { ended, left }
    },
    abandon({ session, epoch }) {
      for (const passenger of passengers.values()) {
        if (passenger.fence.session === session && passenger.fence.epoch === epoch) passenger.abandoned = true
      }
    },
    rejectAll(error) {
      for (const { reject } of passengers.values()) reject(error)
    },
    clear() {
      for (const { leave } of [...passengers.values()]) leave()
    },
    witnesses({ current, recent }, { isCertain }) {
      const order = [...new Set([current, ...recent, ...passengers.keys()])]
      const aboard = order.flatMap((ticket) => passengers.get(ticket)?.fence ?? [])
      const isKnown = aboard.length === 1 || (isCertain && passengers.has(current))
      const culprit = isKnown ? aboard[0] : undefined
      return { aboard, ...(culprit && { culprit }) }
    },
  }
}
