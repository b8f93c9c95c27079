import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PersistentMap } from './persistent-map.ts'

test('after any changes it holds what a Map holds, and earlier versions hold what they held', () => {
  const change = fc.record({
    key: fc.constantFrom(...Array.from({ length: 80 }, (_, n) => `k${n}`)),
    value: fc.option(fc.nat()),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const model = new Map<string, number>()
      const versions: [PersistentMap<number>, [string, number][]][] = []
      let map = PersistentMap.empty<number>()
      for (const { key, value } of changes) {
        if (value === null) model.delete(key)
        else model.set(key, value)
        map = value === null ? map.delete(key) : map.set(key, value)
        versions.push([map, [...model]])
      }
      for (const [version, entries] of versions) {
        expect(version.size).toBe(entries.length)
        expect(new Map(version.entries())).toEqual(new Map(entries))
      }
    }),
    { numRuns: 50 },
  )
})

test('keys of equal hashes stay apart', () => {
  // Two texts with the same 32-bit FNV-1a hash.
  const [one, other] = ['costarring', 'liquid']
  let map = PersistentMap.empty<number>().set(one!, 1).set(other!, 2)
  expect([map.get(one!), map.get(other!), map.size]).toEqual([1, 2, 2])
  map = map.set(one!, 3).delete(other!)
  expect([map.get(one!), map.get(other!), map.size]).toEqual([3, undefined, 1])
  expect(map.delete(one!).size).toBe(0)
})

test('setting the same value, or deleting what is not there, gives the same map', () => {
  const map = PersistentMap.empty<number>().set('a', 1)
  expect(map.set('a', 1)).toBe(map)
  expect(map.delete('b')).toBe(map)
})
