import type { Clock } from '../core/clock.ts'

/** What is known of a thread that sessions share. */
export type Loaded = {
  readonly active: number
  readonly ready: boolean
  /** Share of the time since it was last asked in which its event loop was at work, from 0 to 1. */
  utilization(): number
}

export type GrowthOptions = {
  clock: Clock
  workers(): Loaded[]
  /** Starts a thread more, if that is allowed. */
  grow(): void
}

const lookMs = 2000
const busyShare = 0.8

/**
 * Lets a pool grow when all its threads were busy for two seconds. Most sessions wait for their models, and a thread serves
 * many of them; one more takes a tenth of a second of a processor that the others could use, and 16 MB.
 */
export function createGrowth({ clock, workers, grow }: GrowthOptions) {
  let cancel: (() => void) | undefined

  function look(): void {
    cancel = undefined
    const pool = workers()
    // Asked of each: the time counts from the last look.
    const busy = pool.filter((worker) => worker.utilization() > busyShare && worker.ready && worker.active > 1)
    if (pool.length > 0 && busy.length === pool.length) grow()
    if (pool.some(({ active }) => active > 0)) watch()
  }

  function watch(): void {
    cancel ??= clock.after(lookMs, look)
  }

  return {
    /** Something was placed: there is something to look at. */
    watch,
    close(): void {
      cancel?.()
      cancel = undefined
    },
  }
}
