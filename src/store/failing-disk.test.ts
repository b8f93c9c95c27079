import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { SessionId } from '../core/ids.ts'
import type { StoreOptions } from './create-store.ts'
import { systemDisk } from './disk.ts'
import { childRef, root, rootRef, said } from './fixtures/sample-records.ts'
import { newFolder, openStore, textsOf } from './fixtures/test-store.ts'
import { journalPath } from './layout.ts'

describe('a disk that fails', () => {
  test('a short write that ends in a full disk leaves no torn record, and appends go on when there is room', () => {
    let room = Number.POSITIVE_INFINITY
    const disk: StoreOptions['disk'] = {
      ...systemDisk,
      write(fd, bytes, offset, length, position) {
        if (room === 0) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
        const count = systemDisk.write(fd, bytes, offset, Math.min(length, room), position)
        room -= count
        return count
      },
    }
    const dataDir = newFolder()
    const store = openStore(dataDir, { disk })
    store.lockRoot(root)
    store.append(rootRef, [said('one')])
    for (const left of [0, 1, 30, 70]) {
      const before = readFileSync(journalPath(dataDir, rootRef))
      room = left
      expect(() => store.append(rootRef, [said('lost'), said('lost too')])).toThrow(
        expect.objectContaining({ code: 'storage-full', message: expect.stringContaining('Make room') }),
      )
      expect(readFileSync(journalPath(dataDir, rootRef))).toEqual(before)
    }
    room = Number.POSITIVE_INFINITY
    expect(store.append(rootRef, [said('two')])[0]!.seq).toBe(2)
    expect(textsOf(store)).toEqual(['one', 'two'])
  })

  test('short writes without an error are completed', () => {
    const disk: StoreOptions['disk'] = {
      ...systemDisk,
      write: (fd, bytes, offset, length, position) =>
        systemDisk.write(fd, bytes, offset, Math.min(length, 7), position),
    }
    const store = openStore(newFolder(), { disk })
    store.lockRoot(root)
    store.append(rootRef, [said('one'), said('two')])
    expect(textsOf(store)).toEqual(['one', 'two'])
  })

  test('what could not be cut off at once is cut off before the next append', () => {
    let broken = false
    const disk: StoreOptions['disk'] = {
      ...systemDisk,
      write(fd, bytes, offset, length, position) {
        if (!broken) return systemDisk.write(fd, bytes, offset, length, position)
        systemDisk.write(fd, bytes, offset, length - 3, position)
        throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
      },
      truncate(fd, length) {
        if (broken) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
        systemDisk.truncate(fd, length)
      },
    }
    const store = openStore(newFolder(), { disk })
    store.lockRoot(root)
    store.append(rootRef, [said('one')])
    broken = true
    for (const _ of [1, 2]) {
      expect(() => store.append(rootRef, [said('lost')])).toThrow(expect.objectContaining({ code: 'storage-failed' }))
    }
    expect(textsOf(store)).toEqual(['one'])
    broken = false
    store.append(rootRef, [said('two')])
    expect(textsOf(store)).toEqual(['one', 'two'])
    expect(store.damage).toEqual([])
  })

  test('a failed sync stops that journal for good and says so, others go on', async () => {
    let failing = true
    const disk: StoreOptions['disk'] = {
      ...systemDisk,
      async sync(fd) {
        if (failing) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
        await systemDisk.sync(fd)
      },
    }
    const store = openStore(newFolder(), { disk })
    store.lockRoot(root)
    store.append(rootRef, [said('one')])
    const failed = expect.objectContaining({ code: 'storage-failed' })
    await expect(store.synced(rootRef)).rejects.toEqual(failed)
    failing = false
    expect(() => store.append(rootRef, [said('two')])).toThrow(failed)
    await expect(store.synced(rootRef)).rejects.toEqual(failed)
    expect(store.damage).toEqual([expect.stringContaining('Cannot sync')])
    expect(textsOf(store)).toEqual(['one'])
    store.append(childRef('exp-1'), [said('child')])
    await store.synced(childRef('exp-1'))
  })

  test('a data folder that is deleted under a session stops it, and no other', async () => {
    const store = openStore(newFolder())
    const other = 'r2' as SessionId
    store.lockRoot(root)
    store.lockRoot(other)
    store.append(rootRef, [said('one')])
    await store.synced(rootRef)
    rmSync(dirname(journalPath(store.dataDir, rootRef)), { recursive: true })
    expect(() => store.append(rootRef, [said('two')])).toThrow(/was deleted/)
    expect(() => store.append(childRef('exp-1'), [said('child')])).toThrow(/folder is gone/)
    store.append({ root: other, session: other }, [said('fine')])
    await store.synced({ root: other, session: other })
  })

  test('a journal that somebody else writes to stops, and what was written stays', () => {
    const store = openStore(newFolder())
    store.lockRoot(root)
    store.append(rootRef, [said('one')])
    appendFileSync(journalPath(store.dataDir, rootRef), 'foreign\n')
    expect(() => store.append(rootRef, [said('two')])).toThrow(/was changed by another program/)
    expect(readFileSync(journalPath(store.dataDir, rootRef), 'utf8')).toContain('foreign')
  })

  test('a data folder that is a file is an error with a remedy', () => {
    const dataDir = join(newFolder(), 'file')
    writeFileSync(dataDir, '')
    const store = openStore(dataDir)
    expect(() => store.lockRoot(root)).toThrow(expect.objectContaining({ code: 'storage-failed' }))
    expect(() => store.list()).toThrow(/Set TROUPE_HOME/)
  })
})
