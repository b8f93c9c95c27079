import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../core/clock.ts'
import type { SessionId } from '../core/ids.ts'
import { childRef, created, root, rootRef, said } from './fixtures/sample-records.ts'
import { newFolder, openStore, textsOf } from './fixtures/test-store.ts'
import { journalPath } from './layout.ts'

describe('appending and reading', () => {
  test('records come back as they were returned, with seq from 1 and the time', () => {
    const store = openStore(newFolder(), { clock: { ...systemClock, now: () => 1234 } })
    store.lockRoot(root)
    const first = store.append(rootRef, [created(rootRef), said('ä \ud83d\ude00 \u2028 "x"\n')])
    const second = store.append(rootRef, [said('again')])
    expect([...first, ...second].map(({ seq, at }) => [seq, at])).toEqual([
      [1, 1234],
      [2, 1234],
      [3, 1234],
    ])
    expect(store.read(rootRef)).toEqual([...first, ...second])
  })

  test('a record that is appended again gets a seq of its own', () => {
    const store = openStore(newFolder())
    store.lockRoot(root)
    const [record] = store.append(rootRef, [said('one')])
    expect(store.append(rootRef, [record!])[0]!.seq).toBe(2)
    expect(store.read(rootRef).map(({ seq }) => seq)).toEqual([1, 2])
  })

  test('any sequence of appends across sessions and reopenings reads back equal', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 })
    const step = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({ child: fc.integer({ min: 0, max: 4 }), texts: fc.array(text, { maxLength: 4 }) }),
      },
      { weight: 1, arbitrary: fc.constant('reopen' as const) },
      { weight: 1, arbitrary: fc.constant('sync' as const) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const dataDir = newFolder()
        const expected = new Map<string, unknown[]>()
        let store = openStore(dataDir)
        store.lockRoot(root)
        for (const move of steps) {
          if (move === 'reopen') {
            await store.close()
            store = openStore(dataDir)
            store.lockRoot(root)
          } else if (move === 'sync') {
            for (const session of store.sessionsOf(root)) await store.synced({ root, session })
          } else {
            const ref = childRef(`exp-${move.child}`)
            const records = store.append(ref, move.texts.map(said))
            expected.set(ref.session, [...(expected.get(ref.session) ?? []), ...records])
          }
        }
        for (const [session, records] of expected) {
          expect(store.read({ root, session: session as SessionId })).toEqual(records)
        }
        expect(store.damage).toEqual([])
        await store.close()
      }),
      { numRuns: 40 },
    )
  })

  test('lines longer than the reading buffer and thousands of short ones read back', () => {
    const store = openStore(newFolder())
    store.lockRoot(root)
    const texts = [...Array.from({ length: 5000 }, (_, n) => `line ${n}`), 'z'.repeat(1_500_000), 'end']
    store.append(rootRef, texts.map(said))
    expect(textsOf(store)).toEqual(texts)
  })

  test('an unknown session has no records and nothing is made for it', () => {
    const dataDir = newFolder()
    const store = openStore(dataDir)
    expect(store.read(rootRef)).toEqual([])
    expect(store.exists(rootRef)).toBe(false)
    expect(store.findRoot(root)).toBeUndefined()
    expect(store.list()).toEqual([])
    expect(store.sessionsOf(root)).toEqual([])
    expect(readdirSync(dataDir)).toEqual([])
  })

  test('a child is found by its id, also when ids of roots have dashes', () => {
    const store = openStore(newFolder())
    const dashed = 'r1-x' as SessionId
    store.lockRoot(root)
    store.lockRoot(dashed)
    const child = { root: dashed, session: 'r1-x-exp-1-gen-2' as SessionId }
    store.append(rootRef, [created(rootRef)])
    store.append({ root: dashed, session: dashed }, [created({ root: dashed, session: dashed })])
    store.append(child, [created(child)])
    expect(store.findRoot(child.session)).toBe(dashed)
    expect(store.findRoot(dashed)).toBe(dashed)
    expect(store.findRoot('r1-exp-9' as SessionId)).toBeUndefined()
    expect(store.sessionsOf(dashed)).toEqual([dashed, child.session])
  })

  test('appending needs the lock of the root', () => {
    const store = openStore(newFolder())
    expect(() => store.append(rootRef, [said('x')])).toThrow(/Take the lock/)
    const lock = store.lockRoot(root)
    store.append(rootRef, [said('x')])
    lock.release()
    expect(() => store.append(rootRef, [said('y')])).toThrow(/Take the lock/)
  })

  test('an id that is no session id never becomes a path', () => {
    const store = openStore(newFolder())
    expect(() => store.lockRoot('../up' as SessionId)).toThrow(/no session id/)
    expect(() => store.read({ root, session: '../../etc/passwd' as SessionId })).toThrow(/no session id/)
  })

  test('folders and files are for their owner alone', () => {
    const dataDir = join(newFolder(), 'deep', 'data')
    const store = openStore(dataDir)
    store.lockRoot(root)
    store.append(rootRef, [created(rootRef)])
    const modeOf = (path: string) => statSync(path).mode & 0o777
    const path = journalPath(dataDir, rootRef)
    expect([dataDir, dirname(path)].map(modeOf)).toEqual([0o700, 0o700])
    expect([path, join(dirname(path), 'lock')].map(modeOf)).toEqual([0o600, 0o600])
  })
})
