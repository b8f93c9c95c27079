import { describe, expect, test } from 'vitest'
import type { Clock } from '../core/clock.ts'
import { createHeartbeat } from './heartbeat.ts'

/** A clock that moves when told to; timers are called when it reaches them, or late. */
function handClock() {
  const timers = new Set<{ at: number; run: () => void }>()
  let now = 0
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    after(delayMs, run) {
      const timer = { at: now + delayMs, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  }
  function fire(): void {
    for (const timer of [...timers]) {
      if (timer.at > now) continue
      timers.delete(timer)
      timer.run()
    }
  }
  return {
    clock,
    waiting: () => timers.size,
    /** In steps of 100 ms. */
    pass(ms: number, each?: () => void) {
      for (const end = now + ms; now < end; ) {
        now += 100
        each?.()
        fire()
      }
    },
    /** Nothing runs meanwhile. */
    stall(ms: number) {
      now += ms
      fire()
    },
  }
}

function watched() {
  const worker = {
    active: 1,
    ready: true,
    leaving: false,
    beats: 0,
    externalMb: 0,
    heapMbAtBeat: 0,
    heapMbNow: undefined as number | undefined,
    killed: [] as string[],
    load: undefined as { cpuMs: number; isWaiting: boolean } | undefined,
    pulse: () => ({
      beats: worker.beats,
      externalMb: worker.externalMb,
      heapMb: worker.heapMbAtBeat,
      current: 0,
      recent: [],
      thread: 1,
    }),
    heapMb: async () => worker.heapMbNow,
    kill({ why }: { why: string }) {
      worker.leaving = true
      worker.killed.push(why)
    },
  }
  const hand = handClock()
  const heartbeat = createHeartbeat({
    clock: hand.clock,
    workers: () => [worker],
    memoryMb: 100,
    loadOf: () => worker.load && { ...worker.load },
  })
  heartbeat.watch()
  const beat = () => {
    worker.beats += 1
  }
  return { worker, hand, heartbeat, beat }
}

describe('a worker', () => {
  test('whose event loop turns is left alone', () => {
    const { worker, hand, beat } = watched()
    hand.pass(60_000, beat)
    expect(worker.killed).toEqual([])
  })

  test('whose event loop is blocked is ended within two seconds', () => {
    const { worker, hand, beat } = watched()
    hand.pass(5000, beat)
    hand.pass(2000)
    expect(worker.killed).toEqual([expect.stringContaining('its event loop was blocked')])
  })

  test('that gets no turn on a busy machine is left alone for longer', () => {
    const { worker, hand, beat } = watched()
    const compute = () => {
      worker.load = { cpuMs: (worker.load?.cpuMs ?? 0) + 10, isWaiting: false }
    }
    compute()
    hand.pass(1000, beat)
    hand.pass(4500, compute)
    expect(worker.killed).toEqual([])
    hand.pass(16_000)
    expect(worker.killed).toHaveLength(1)
  })

  test.each([
    ['computes without end', 100, false],
    ['waits in a call of the system', 0, true],
  ])('that %s is ended within two seconds all the same', (_what, cpuMs, isWaiting) => {
    const { worker, hand, beat } = watched()
    worker.load = { cpuMs: 0, isWaiting: false }
    hand.pass(1000, beat)
    hand.pass(2000, () => {
      worker.load = { cpuMs: (worker.load?.cpuMs ?? 0) + cpuMs, isWaiting }
    })
    expect(worker.killed).toHaveLength(1)
  })

  test('is given the time again in which our own loop, or the whole program, stood still', () => {
    const { worker, hand, beat } = watched()
    hand.pass(5000, beat)
    hand.stall(600_000)
    hand.pass(1000)
    hand.pass(5000, beat)
    expect(worker.killed).toEqual([])
    hand.stall(600_000)
    hand.pass(2000)
    expect(worker.killed).toHaveLength(1)
  })

  test('may take its time to start, but not for ever', () => {
    const { worker, hand, beat } = watched()
    worker.ready = false
    hand.pass(29_000)
    worker.ready = true
    hand.pass(1000)
    hand.pass(5000, beat)
    expect(worker.killed).toEqual([])
    worker.ready = false
    hand.pass(31_000)
    expect(worker.killed).toEqual(['it was not ready after 30 s'])
  })

  test.each([
    ['externalMb', 'it ran out of memory: it held 101 MB outside its heap (workerMemoryMb is 100)'],
    ['heapMbAtBeat', 'it ran out of memory: its heap held 101 MB (workerMemoryMb is 100)'],
  ] as const)('that holds too much (%s) is ended', (where, why) => {
    const { worker, hand, beat } = watched()
    worker[where] = 101
    hand.pass(400, beat)
    expect(worker.killed).toEqual([why])
  })

  test('that says nothing while it fills its heap is looked into', async () => {
    const { worker, hand, beat } = watched()
    hand.pass(1000, beat)
    worker.heapMbNow = 101
    hand.pass(600)
    await Promise.resolve()
    expect(worker.killed).toEqual(['it ran out of memory: its heap held 101 MB (workerMemoryMb is 100)'])
  })
})

test('nothing is watched while no worker has anything to do', () => {
  const { worker, hand, heartbeat, beat } = watched()
  hand.pass(1000, beat)
  worker.active = 0
  hand.pass(1000)
  expect(hand.waiting()).toBe(0)
  worker.active = 1
  heartbeat.watch()
  hand.pass(2000)
  expect(worker.killed).toHaveLength(1)
  heartbeat.close()
  expect(hand.waiting()).toBe(0)
})
