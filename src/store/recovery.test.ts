import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { created, root, rootRef, said } from './fixtures/sample-records.ts'
import { newFolder, openStore, snapshot, textsOf, writtenFolder } from './fixtures/test-store.ts'
import { journalPath } from './layout.ts'

describe('recovery', () => {
  test('a journal cut at any byte keeps every whole record, and the next append follows them', async () => {
    const dataDir = newFolder()
    const writer = openStore(dataDir)
    writer.lockRoot(root)
    writer.append(rootRef, [said('one'), said('twö')])
    await writer.close()
    const path = journalPath(dataDir, rootRef)
    const whole = readFileSync(path)
    const ends = [...whole.entries()].filter(([, byte]) => byte === 10).map(([offset]) => offset + 1)
    for (let length = 0; length <= whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length))
      const kept = ends.filter((end) => end <= length).length
      const store = openStore(dataDir)
      expect(store.exists(rootRef)).toBe(kept > 0)
      store.lockRoot(root)
      if (length % 2 === 0) expect(store.read(rootRef)).toHaveLength(kept)
      expect(store.append(rootRef, [said('next')])[0]!.seq).toBe(kept + 1)
      expect(store.read(rootRef)).toHaveLength(kept + 1)
      expect(readFileSync(path).subarray(0, ends[kept - 1] ?? 0)).toEqual(whole.subarray(0, ends[kept - 1] ?? 0))
      expect(store.damage).toEqual([])
      await store.close()
    }
  })

  test('a block of zeros at the end, as a power loss leaves it, is cut off', async () => {
    const { dataDir, path } = await writtenFolder(['one'])
    appendFileSync(path, Buffer.alloc(4096))
    const store = openStore(dataDir)
    store.lockRoot(root)
    expect(textsOf(store)).toEqual(['one'])
    store.append(rootRef, [said('two')])
    expect(readFileSync(path).includes(0)).toBe(false)
    expect(textsOf(store)).toEqual(['one', 'two'])
    expect(store.damage).toEqual([])
  })

  test('a whole last line with a wrong checksum is cut off, but a copy is kept and it is reported', async () => {
    const { dataDir, path } = await writtenFolder(['one', 'two'])
    writeFileSync(path, readFileSync(path, 'utf8').replace('two', 'twO'))
    const store = openStore(dataDir)
    store.lockRoot(root)
    expect(textsOf(store)).toEqual(['one'])
    expect(store.append(rootRef, [said('three')])[0]!.seq).toBe(3)
    expect(textsOf(store)).toEqual(['one', 'three'])
    expect(readFileSync(path, 'utf8')).not.toContain('twO')
    expect(readFileSync(`${path}.damaged-1`, 'utf8')).toContain('twO')
    expect(store.damage).toHaveLength(1)
  })

  test('any changed byte costs its own line and no other, and is never silent', async () => {
    const { dataDir, path } = await writtenFolder(['one', 'two', 'three'])
    const whole = readFileSync(path)
    const lines = whole.toString('utf8').split('\n')
    const from = lines[0]!.length + 1
    const to = from + lines[1]!.length
    for (let offset = from; offset < to; offset += 1) {
      const changed = Buffer.from(whole)
      changed[offset] = whole[offset]! ^ 1
      writeFileSync(path, changed)
      const store = openStore(dataDir)
      store.lockRoot(root)
      expect(textsOf(store)).toEqual(['two', 'three'])
      expect(store.damage).toHaveLength(1)
      await store.close()
      for (const name of readdirSync(dirname(path))) if (name.includes('damaged')) rmSync(join(dirname(path), name))
    }
  })

  test('damage in the middle is copied aside, loaded around, and reported once however often it is read', async () => {
    const { dataDir, path } = await writtenFolder(['one', 'two', 'three'])
    const whole = readFileSync(path)
    whole.fill(0, whole.indexOf('one'), whole.indexOf('two'))
    writeFileSync(path, whole)

    const store = openStore(dataDir)
    store.lockRoot(root)
    expect(textsOf(store)).toEqual(['three'])
    expect(store.append(rootRef, [said('four')])[0]!.seq).toBe(5)
    expect(textsOf(store)).toEqual(['three', 'four'])
    expect(store.damage).toEqual([expect.stringContaining(`a copy is in ${path}.damaged-1`)])
    expect(
      readFileSync(`${path}.damaged-1`).includes(whole.subarray(whole.indexOf('\n') + 1, whole.indexOf('two'))),
    ).toBe(true)
    await store.close()

    const later = openStore(dataDir)
    later.lockRoot(root)
    expect(textsOf(later)).toEqual(['three', 'four'])
    expect(later.damage).toEqual([])
    expect(readdirSync(dirname(path)).filter((name) => name.includes('damaged'))).toHaveLength(1)
  })

  test('new damage beside known damage is reported by itself', async () => {
    const { dataDir, path } = await writtenFolder(['one', 'two', 'three', 'four'])
    for (const [word, n] of [
      ['one', 1],
      ['three', 2],
    ] as const) {
      writeFileSync(path, readFileSync(path, 'utf8').replace(word, 'x'.repeat(word.length)))
      const store = openStore(dataDir)
      store.lockRoot(root)
      store.read(rootRef)
      expect(store.damage).toEqual([expect.stringContaining(`.damaged-${n}`)])
      await store.close()
    }
  })

  test('records that vanished without a trace are reported once', async () => {
    const { dataDir, path } = await writtenFolder(['one', 'two', 'three'])
    const lines = readFileSync(path, 'utf8').split('\n')
    writeFileSync(path, [lines[0], lines[3], ''].join('\n'))
    for (const expected of [[expect.stringContaining('records 2 to 3 are missing')], []]) {
      const store = openStore(dataDir)
      store.lockRoot(root)
      expect(textsOf(store)).toEqual(['three'])
      expect(store.damage).toEqual(expected)
      await store.close()
    }
  })

  test('a record that stands twice counts once', async () => {
    const { dataDir, path } = await writtenFolder(['one', 'two'])
    const lines = readFileSync(path, 'utf8').split('\n')
    writeFileSync(path, [lines[0], lines[1], lines[1], lines[2], ''].join('\n'))
    const store = openStore(dataDir)
    store.lockRoot(root)
    expect(textsOf(store)).toEqual(['one', 'two'])
    expect(store.damage).toHaveLength(1)
  })

  test('whoever does not hold the lock reads what is good and changes nothing', async () => {
    const { dataDir, path } = await writtenFolder(['one', 'two', 'three'])
    writeFileSync(path, `${readFileSync(path, 'utf8').replace('two', 'tWo')}{"sum":"torn`)
    const owner = openStore(dataDir)
    owner.lockRoot(root)
    const before = snapshot(dataDir)
    const reader = openStore(dataDir)
    expect(textsOf(reader)).toEqual(['one', 'three'])
    expect(textsOf(reader)).toEqual(['one', 'three'])
    expect(reader.list()).toMatchObject([{ session: root, lockedBy: process.pid, prompt: 'one' }])
    expect(reader.damage).toHaveLength(1)
    expect(snapshot(dataDir)).toEqual(before)
  })

  test('a journal of a newer version is refused with the remedy and nothing is touched', async () => {
    const dataDir = newFolder()
    const writer = openStore(dataDir)
    writer.lockRoot(root)
    writer.append(rootRef, [created(rootRef, 99), said('from the future')])
    await writer.close()
    const path = journalPath(dataDir, rootRef)
    appendFileSync(path, 'a line of a format to come')
    const before = snapshot(dataDir)

    const store = openStore(dataDir)
    expect(() => store.read(rootRef)).toThrow(expect.objectContaining({ code: 'journal-newer' }))
    const lock = store.lockRoot(root)
    expect(() => store.read(rootRef)).toThrow(/newer troupe .* Upgrade troupe/)
    expect(() => store.append(rootRef, [said('x')])).toThrow(expect.objectContaining({ code: 'journal-newer' }))
    expect(store.list()[0]!.damaged).toMatch(/newer troupe/)
    lock.release()
    expect(snapshot(dataDir)).toEqual(before)
    expect(store.damage).toEqual([])
  })
})
