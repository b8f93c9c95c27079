/** Numbers from 0 to below 1. Mulberry32, by Tommy Ettinger: the same seed gives the same numbers. */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Of a test that leaves something to chance: a failure names it, and the variable repeats it. */
export function chanceSeed(): number {
  return Number(process.env.TROUPE_CHAOS_SEED ?? Date.now() % 1_000_000)
}

/** `npm run chaos` takes its time. */
export const isLongChaos = process.env.TROUPE_CHAOS === 'long'
