import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Clock } from '../core/clock.ts'
import type { SessionId } from '../core/ids.ts'
import { createSlots, type SlotOwner, type SlotPriority } from './slots.ts'

/** `a/1` is session 1 of the tree a. */
const owner = (name: string, epoch = 1): SlotOwner => ({
  session: name as SessionId,
  epoch,
  root: name.split('/')[0] as SessionId,
})

/** Asks in this order, then lets each give back its slot as soon as it has it; returns the order in which they were served. */
async function served(limit: number, asks: [string, SlotPriority?][]): Promise<string[]> {
  const slots = createSlots()
  const order: string[] = []
  await slots.acquire('s', 1, owner('busy'), 'foreground')
  const all = asks.map(async ([name, priority = 'foreground']) => {
    await slots.acquire('s', limit, owner(name), priority)
    order.push(name)
    slots.release('s', owner(name))
  })
  slots.release('s', owner('busy'))
  await Promise.all(all)
  expect(slots.size).toBe(0)
  return order
}

describe('slots of a server', () => {
  test('are first come, first served within a tree', async () => {
    expect(await served(1, [['a/1'], ['a/2'], ['a/3']])).toEqual(['a/1', 'a/2', 'a/3'])
  })

  test('go round the trees, so that a large one does not keep out a small one', async () => {
    const asks: [string][] = [['a/1'], ['a/2'], ['a/3'], ['b/1'], ['c/1'], ['b/2']]
    expect(await served(1, asks)).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3'])
  })

  test('go to the foreground first', async () => {
    const asks: [string, SlotPriority?][] = [['a/1', 'background'], ['b/1', 'background'], ['b/2'], ['a/2']]
    expect(await served(1, asks)).toEqual(['a/2', 'b/2', 'a/1', 'b/1'])
  })

  test('are never more than the limit, and all are served in the end', async () => {
    const names = fc.array(fc.constantFrom('a/1', 'a/2', 'b/1', 'b/2', 'c/1'), { maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(names, fc.integer({ min: 1, max: 4 }), async (names, limit) => {
        const slots = createSlots()
        let held = 0
        let most = 0
        const work = async (name: string, index: number) => {
          const me = owner(name, index)
          await slots.acquire('s', limit, me, index % 3 === 0 ? 'foreground' : 'background')
          held += 1
          most = Math.max(most, held)
          await new Promise(setImmediate)
          held -= 1
          slots.release('s', me)
        }
        await Promise.all(names.map(work))
        expect(most).toBe(Math.min(limit, names.length))
        expect(slots.size).toBe(0)
      }),
    )
  })

  test('of one server do not count for another', async () => {
    const slots = createSlots()
    await slots.acquire('s', 1, owner('a/1'), 'foreground')
    await slots.acquire('t', 1, owner('a/1'), 'foreground')
    expect(slots.size).toBe(2)
  })

  test('tell those who wait how many requests are ahead', async () => {
    const ahead: [string, number][] = []
    const slots = createSlots({ onWaiting: ({ session }, count) => ahead.push([session, count]) })
    for (const name of ['a/1', 'a/2', 'a/3', 'b/1']) void slots.acquire('s', 2, owner(name), 'foreground')
    expect(ahead).toEqual([
      ['a/3', 1],
      ['b/1', 2],
    ])
  })

  test('of an epoch are given back together, and its waiting ends', async () => {
    const slots = createSlots()
    await slots.acquire('s', 1, owner('a/1'), 'foreground')
    await slots.acquire('t', 1, owner('b/1'), 'foreground')
    const next = slots.acquire('s', 1, owner('b/1'), 'foreground')
    const given = slots.acquire('t', 1, owner('a/1'), 'foreground')
    slots.releaseAll(owner('a/1', 2))
    expect(slots.size).toBe(2)
    slots.releaseAll(owner('a/1'))
    await next
    await expect(given).rejects.toMatchObject({ code: 'fenced' })
    slots.releaseAll(owner('b/1'))
    expect(slots.size).toBe(0)
  })

  test('are no longer waited for by one who gave up', async () => {
    const slots = createSlots()
    await slots.acquire('s', 1, owner('a/1'), 'foreground')
    const given = slots.acquire('s', 1, owner('b/1'), 'foreground')
    const next = slots.acquire('s', 1, owner('c/1'), 'foreground')
    slots.release('s', owner('b/1'))
    await expect(given).rejects.toMatchObject({ code: 'fenced' })
    slots.release('s', owner('a/1'))
    await next
  })
})

describe('a warm slot', () => {
  /** A session takes its slot, three others of two trees wait, and it gives the slot back for its next request. */
  function setUp() {
    const clock = fakeClock()
    const slots = createSlots({ clock })
    const order: string[] = []
    const ask = (name: string, priority: SlotPriority = 'background') =>
      slots.acquire('s', 1, owner(name), priority).then(() => order.push(name))
    return { clock, slots, order, ask }
  }

  test('waits for the next request of its session while only its own tree waits', async () => {
    const { slots, order, ask } = setUp()
    await ask('a/1')
    void ask('a/2')
    slots.release('s', owner('a/1'), true)
    await Promise.resolve()
    expect(order).toEqual(['a/1'])
    await ask('a/1')
    expect(order).toEqual(['a/1', 'a/1'])
  })

  test('goes to another tree at once', async () => {
    const { slots, order, ask } = setUp()
    await ask('a/1')
    void ask('a/2')
    const other = ask('b/1')
    slots.release('s', owner('a/1'), true)
    await other
    expect(order).toEqual(['a/1', 'b/1'])
  })

  test('goes to a person of its own tree at once', async () => {
    const { slots, order, ask } = setUp()
    await ask('a/1')
    const lead = ask('a/0', 'foreground')
    slots.release('s', owner('a/1'), true)
    await lead
    expect(order).toEqual(['a/1', 'a/0'])
  })

  test('that was taken from its session goes back to it, before others of its tree', async () => {
    const { slots, order, ask } = setUp()
    await ask('a/1')
    void ask('a/2')
    const lead = ask('a/0', 'foreground')
    slots.release('s', owner('a/1'), true)
    await lead
    const again = ask('a/1')
    slots.release('s', owner('a/0'))
    await again
    expect(order).toEqual(['a/1', 'a/0', 'a/1'])
  })

  test('that is taken again and again does not keep others waiting for ever', async () => {
    const { slots, order, ask } = setUp()
    await ask('a/1')
    void ask('a/2')
    for (let turn = 0; turn < 40 && !order.includes('a/2'); turn += 1) {
      const lead = ask('a/0', 'foreground')
      slots.release('s', owner('a/1'), true)
      await lead
      void ask('a/1')
      slots.release('s', owner('a/0'))
      await Promise.resolve()
    }
    expect(order).toContain('a/2')
  })

  test('waits only a moment', async () => {
    const { clock, slots, order, ask } = setUp()
    await ask('a/1')
    const second = ask('a/2')
    slots.release('s', owner('a/1'), true)
    clock.pass(1000)
    await second
    expect(order).toEqual(['a/1', 'a/2'])
  })

  test('is given up after many requests in a row while others wait', async () => {
    const { slots, order, ask } = setUp()
    await ask('a/1')
    void ask('a/2')
    for (let turn = 0; turn < 40 && !order.includes('a/2'); turn += 1) {
      slots.release('s', owner('a/1'), true)
      const next = ask('a/1')
      await Promise.race([next, Promise.resolve().then(() => undefined)])
      await Promise.resolve()
    }
    expect(order).toContain('a/2')
    expect(order.length).toBeGreaterThan(10)
  })
})

function fakeClock(): Clock & { pass(ms: number): void } {
  let now = 0
  let timers: { at: number; run: () => void }[] = []
  return {
    now: () => now,
    monotonic: () => now,
    after(delayMs, run) {
      const timer = { at: now + delayMs, run }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
    pass(ms) {
      now += ms
      const due = timers.filter(({ at }) => at <= now)
      timers = timers.filter(({ at }) => at > now)
      for (const { run } of due) run()
    },
  }
}
