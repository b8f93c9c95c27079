import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
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
