import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { pruneSnapshots } from './prune-snapshots.ts'
import { findSnapshot, keepSnapshot } from './snapshots.ts'

const dayMs = 24 * 60 * 60 * 1000

function snapshotFolder() {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-kept-'))
  onTestFinished(() => {
    rmSync(dir, { recursive: true, force: true })
    rmSync(`${dir}.pruned`, { force: true })
  })
  // Just done: the first write of a thread does not begin with it.
  writeFileSync(`${dir}.pruned`, '')
  const path = (name: string) => join(dir, name.slice(0, 2), name)
  const age = (name: string, days: number) => {
    const at = new Date(Date.now() - days * dayMs)
    utimesSync(path(name), at, at)
  }
  return { dir, path, age, keep: (text: string) => keepSnapshot(dir, Buffer.from(text)) }
}

test('contents kept more than 30 days ago are removed, and half written ones', async () => {
  const { dir, path, age, keep } = snapshotFolder()
  const [old, recent] = [keep('old'), keep('recent')]
  writeFileSync(`${path(old)}.abc.tmp`, 'x')
  age(`${old}.abc.tmp`, 2)
  age(old, 31)
  age(recent, 28)
  await pruneSnapshots(dir, Date.now() + dayMs / 2)
  expect(findSnapshot(dir, old)).toBeDefined()
  await pruneSnapshots(dir, Date.now() + 1.1 * dayMs)
  expect(findSnapshot(dir, old)).toBeUndefined()
  expect(existsSync(`${path(old)}.abc.tmp`)).toBe(false)
  expect(findSnapshot(dir, recent)?.toString()).toBe('recent')
})

test('a content that is kept again is kept for as long again', async () => {
  const { dir, age, keep } = snapshotFolder()
  const name = keep('text')
  age(name, 40)
  expect(keep('text')).toBe(name)
  await pruneSnapshots(dir, Date.now() + 2 * dayMs)
  expect(findSnapshot(dir, name)?.toString()).toBe('text')
})

test('a folder that is not there is none to prune', async () => {
  await expect(pruneSnapshots(join(tmpdir(), 'no-such-folder-of-snapshots'), Date.now())).resolves.toBeUndefined()
})
