import { mkdirSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { replaceFile } from './change-file.ts'
import { createToolWorld, removeToolWorlds } from './testing/tool-world.ts'
import { loadFile, openJudged } from './workspace-files.ts'

// What was judged is what is opened: a link that takes the place of a folder or file afterwards leads nowhere.

afterAll(removeToolWorlds)

async function swapped(small: boolean) {
  const { dir, workspace } = await createToolWorld()
  const outside = join(realpathSync(dir), '..', 'outside')
  mkdirSync(outside, { recursive: true })
  mkdirSync(join(dir, 'sub'))
  const content = small ? 'inside' : 'x'.repeat(3 * 1024 * 1024)
  for (const folder of [join(dir, 'sub'), outside]) writeFileSync(join(folder, 'file'), content)
  const file = workspace.resolve('sub/file')
  renameSync(join(dir, 'sub'), join(dir, 'old'))
  symlinkSync(outside, join(dir, 'sub'))
  return { file, outside }
}

describe('a folder swapped for a link after the path was judged', () => {
  test.each([true, false])('is not read through (small: %s)', async (small) => {
    const { file } = await swapped(small)
    await expect(loadFile(file, new AbortController().signal)).rejects.toThrow('was moved meanwhile')
  })

  test('is not written through, and nothing is left behind', async () => {
    const { file, outside } = await swapped(true)
    await expect(replaceFile(file, Buffer.from('evil'), undefined)).rejects.toThrow('changed meanwhile')
    expect(readdirSync(outside)).toEqual(['file'])
  })
})

test('a file swapped for a link is not opened', async () => {
  const { dir, workspace } = await createToolWorld()
  writeFileSync(join(dir, 'file'), 'inside')
  const file = workspace.resolve('file')
  rmSync(file.path)
  symlinkSync('/etc/hostname', file.path)
  expect(() => openJudged(file.path)).toThrow('ELOOP')
  await expect(loadFile(file, new AbortController().signal)).rejects.toThrow('replaced by a link')
})
