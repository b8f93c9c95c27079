import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isCaseBlind, type Names, spelledAsStored } from './stored-names.ts'

/** A file system that takes upper and lower case for the same, as those of Windows and macOS do. */
function blindNames(folders: Record<string, string[]>): Names {
  const list = (folder: string) =>
    Object.entries(folders).find(([path]) => path.toLowerCase() === folder.toLowerCase())?.[1] ?? []
  return { list, isSame: (one, other) => one.toLowerCase() === other.toLowerCase() }
}

const names = blindNames({ '/': ['proj'], '/proj': ['.git', 'Secrets'], '/proj/Secrets': ['Key.pem'] })

test('where case does not count, a path is spelled as it is stored', () => {
  expect(isCaseBlind('/proj', names)).toBe(true)
  expect(spelledAsStored('/PROJ/secrets/KEY.PEM', names)).toBe('/proj/Secrets/Key.pem')
  expect(spelledAsStored('/proj/.GIT/hooks/Pre-Commit', names)).toBe('/proj/.git/hooks/Pre-Commit')
})

test('a folder without a name to try is tried by its own', () => {
  expect(isCaseBlind('/Empty', blindNames({ '/Empty': ['1', '2'] }))).toBe(true)
  expect(isCaseBlind('/1', blindNames({}))).toBe(false)
})

test('on this machine a folder tells by itself', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-case-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'one'), '')
  const isBlind = process.platform === 'darwin' || process.platform === 'win32'
  expect(isCaseBlind(folder)).toBe(isBlind)
  expect(spelledAsStored(join(folder, 'one'))).toBe(join(folder, 'one'))
})
