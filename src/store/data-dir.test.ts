import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataDir, dataDirPath } from './data-dir.ts'
import { newFolder } from './fixtures/test-store.ts'

test('TROUPE_HOME wins over XDG_STATE_HOME, which wins over HOME', () => {
  const env = { TROUPE_HOME: '/t', XDG_STATE_HOME: '/x', HOME: '/h' }
  expect(dataDirPath(env)).toBe('/t')
  expect(dataDirPath({ ...env, TROUPE_HOME: '' })).toBe('/x/troupe')
  expect(dataDirPath({ ...env, TROUPE_HOME: undefined, XDG_STATE_HOME: 'relative' })).toBe('/h/.local/state/troupe')
})

test('without any of them the error names the remedy', () => {
  expect(() => dataDirPath({})).toThrow(expect.objectContaining({ code: 'no-data-dir' }))
  expect(() => dataDirPath({ HOME: '' })).toThrow(/Set TROUPE_HOME/)
})

test('the folder is made for its owner alone', () => {
  const home = newFolder()
  const path = dataDir({ HOME: home })
  expect(path).toBe(join(home, '.local', 'state', 'troupe'))
  expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('a folder that cannot be made is an error that names it and the remedy', () => {
  const file = join(newFolder(), 'file')
  writeFileSync(file, '')
  expect(() => dataDir({ TROUPE_HOME: join(file, 'below') })).toThrow(/file.below \(ENOTDIR\)\. Set TROUPE_HOME/)
})

test.skipIf(process.platform !== 'linux')(
  'where the system lets nobody make a folder it is an error, not an endless loop',
  () => {
    expect(() => dataDir({ TROUPE_HOME: '/proc/troupe/below' })).toThrow(/\/proc\/troupe\/below \(ENOENT\)/)
  },
)

test.skipIf(process.getuid?.() === 0)('a folder that may not be written to is an error', () => {
  const folder = newFolder()
  chmodSync(folder, 0o500)
  expect(() => dataDir({ TROUPE_HOME: folder })).toThrow(expect.objectContaining({ code: 'no-data-dir' }))
})
