import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../core/clock.ts'
import type { StoreOptions } from './create-store.ts'
import { systemDisk } from './disk.ts'
import { childRef, root, rootRef, said } from './fixtures/sample-records.ts'
import { newFolder, openStore, textsOf } from './fixtures/test-store.ts'

describe('syncing', () => {
  test('synced waits for a sync that began after the append; the folder of a new journal is synced once', async () => {
    const pending: (() => void)[] = []
    const disk: StoreOptions['disk'] = { ...systemDisk, sync: () => new Promise((resolve) => pending.push(resolve)) }
    const store = openStore(newFolder(), { disk })
    store.lockRoot(root)
    store.append(rootRef, [said('one')])
    const settled: string[] = []
    const first = store.synced(rootRef).then(() => settled.push('first'))
    store.append(rootRef, [said('two')])
    const second = store.synced(rootRef).then(() => settled.push('second'))
    const third = store.synced(rootRef).then(() => settled.push('third'))
    expect(pending).toHaveLength(1)
    pending[0]!()
    await first
    expect(settled).toEqual(['first'])
    expect(pending).toHaveLength(2)
    pending[1]!()
    await Promise.all([second, third])
    await store.synced(rootRef)
    expect(pending).toHaveLength(2)
  })

  test('many appends are synced in the background together', async () => {
    let timers: (() => void)[] = []
    let syncs = 0
    const clock = {
      ...systemClock,
      after(_: number, run: () => void) {
        timers.push(run)
        return () => {}
      },
    }
    const disk: StoreOptions['disk'] = {
      ...systemDisk,
      async sync() {
        syncs += 1
      },
    }
    const store = openStore(newFolder(), { clock, disk })
    store.lockRoot(root)
    for (let n = 0; n < 50; n += 1) store.append(rootRef, [said(`${n}`)])
    expect(timers).toHaveLength(1)
    expect(syncs).toBe(0)
    const due = timers
    timers = []
    for (const run of due) run()
    await store.synced(rootRef)
    expect(syncs).toBe(1)
    expect(timers).toEqual([])
  })

  test('close brings everything to the disk, gives the locks back and ends the store', async () => {
    let syncs = 0
    const disk: StoreOptions['disk'] = {
      ...systemDisk,
      async sync(fd) {
        await systemDisk.sync(fd)
        syncs += 1
      },
    }
    const dataDir = newFolder()
    const store = openStore(dataDir, { disk })
    store.lockRoot(root)
    for (const alias of ['a', 'b', 'c']) store.append(childRef(alias), [said(alias)])
    await Promise.all([store.close(), store.close()])
    expect(syncs).toBe(3)
    expect(existsSync(join(dataDir, 'sessions', root, 'lock'))).toBe(false)
    expect(() => store.append(childRef('a'), [said('late')])).toThrow(expect.objectContaining({ code: 'store-closed' }))
    expect(store.read(childRef('a'))).toHaveLength(1)
  })

  test('a released root still gets to the disk, and its next owner may append meanwhile', async () => {
    const dataDir = newFolder()
    const store = openStore(dataDir)
    const lock = store.lockRoot(root)
    store.append(rootRef, [said('one')])
    lock.release()
    const next = openStore(dataDir)
    next.lockRoot(root)
    next.append(rootRef, [said('two')])
    await store.close()
    await next.synced(rootRef)
    expect([store.damage, next.damage]).toEqual([[], []])
    expect(textsOf(next)).toEqual(['one', 'two'])
  })
})
