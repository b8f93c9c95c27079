import { expect, test } from 'vitest'
import type { Clock } from '../core/clock.ts'
import { createGrowth, type Loaded } from './pool-growth.ts'

/** A clock that waits to be told that time has passed. */
function handClock() {
  const due: (() => void)[] = []
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after(_delayMs, run) {
      due.push(run)
      return () => due.splice(due.indexOf(run), 1)
    },
  }
  return { clock, due, pass: () => due.shift()?.() }
}

function worker(utilization: number, active = 3, ready = true): Loaded {
  return { active, ready, utilization: () => utilization }
}

function grown(...pool: Loaded[]): number {
  const { clock, pass } = handClock()
  let count = 0
  const growth = createGrowth({ clock, workers: () => pool, grow: () => count++ })
  growth.watch()
  pass()
  return count
}

test('a pool grows when every thread is at work without a pause for several sessions', () => {
  expect(grown(worker(0.95))).toBe(1)
  expect(grown(worker(0.95), worker(0.9))).toBe(1)
})

test('a pool does not grow while a thread has time, is starting, or serves one session', () => {
  expect(grown(worker(0.95), worker(0.3))).toBe(0)
  expect(grown(worker(0.95), worker(0.95, 3, false))).toBe(0)
  expect(grown(worker(0.95, 1))).toBe(0)
  expect(grown()).toBe(0)
})

test('it looks on while there is something at work, and rests after that', () => {
  const { clock, due, pass } = handClock()
  let active = 2
  const pool = (): Loaded[] => [worker(0.1, active)]
  const growth = createGrowth({ clock, workers: pool, grow: () => undefined })
  growth.watch()
  growth.watch()
  expect(due).toHaveLength(1)
  pass()
  expect(due).toHaveLength(1)
  active = 0
  pass()
  expect(due).toHaveLength(0)
  growth.watch()
  growth.close()
  expect(due).toHaveLength(0)
})
