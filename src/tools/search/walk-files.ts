import { type Dirent, readdirSync, type Stats, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { temporaryName } from '../change-file.ts'
import { platformError } from '../workspace-files.ts'
import { type IgnoreRules, loadIgnoreRules, noRules, readText } from './ignore-rules.ts'
import { createPace } from './pace.ts'

/** A regular file. `below` is relative to the folder that was walked, with `/`. */
export type WalkedFile = { path: string; below: string }

export type DatedFile = WalkedFile & { size: number; mtimeMs: number }

export type Walk = {
  files: WalkedFile[]
  /** There were more files than a walk takes in. */
  incomplete: boolean
  /** Folders that could not be opened. */
  unreadable: number
}

const maxFiles = 300_000

/**
 * Every file below `root` that git would not ignore; hidden ones too, `.git` not. Links are not followed, so each real file
 * comes once and loops end.
 */
export async function walkFiles(
  root: string,
  { workspace, signal }: { workspace: string; signal: AbortSignal },
): Promise<Walk> {
  const { top, rules } = loadIgnoreRules(root, workspace)
  const prefix = relative(top, root)
    .split(sep)
    .filter(Boolean)
    .map((part) => `${part}/`)
    .join('')
  const pace = createPace(signal)
  const files: WalkedFile[] = []
  const open = [{ below: '', rules }]
  let unreadable = 0
  for (let folder = open.pop(); folder && files.length < maxFiles; folder = open.pop()) {
    await pace.breathe()
    const { below } = folder
    const entries = entriesOf(join(root, below))
    if (entries === undefined) unreadable++
    if (entries === undefined) continue
    const own = rulesWithin(folder.rules, entries, root, below, prefix)
    for (const entry of entries) {
      if (entry.name === '.git' || temporaryName.test(entry.name)) continue
      const path = below + entry.name
      if (entry.isDirectory()) {
        if (!own.ignores(`${prefix}${path}/`)) open.push({ below: `${path}/`, rules: own })
      } else if (entry.isFile() && !own.ignores(prefix + path)) {
        files.push({ path: `${root}/${path}`, below: path })
      }
    }
  }
  return { files, incomplete: files.length >= maxFiles, unreadable }
}

/** Newest first, equal times by path. Files that went away meanwhile are left out. */
export async function newestFirst(files: readonly WalkedFile[], signal: AbortSignal): Promise<DatedFile[]> {
  const pace = createPace(signal)
  const dated: DatedFile[] = []
  for (const file of files) {
    await pace.breathe()
    const stats = statOf(file.path)
    if (stats?.isFile()) dated.push({ ...file, size: stats.size, mtimeMs: stats.mtimeMs })
  }
  return dated.sort((a, b) => b.mtimeMs - a.mtimeMs || (a.path < b.path ? -1 : 1))
}

/** A repository within another has rules of its own alone. */
function rulesWithin(above: IgnoreRules, entries: Dirent[], root: string, below: string, prefix: string): IgnoreRules {
  const isNested = below !== '' && entries.some(({ name }) => name === '.git')
  const rules = isNested ? noRules : above
  if (!entries.some((entry) => entry.name === '.gitignore' && entry.isFile())) return rules
  const text = readText(join(root, below, '.gitignore'))
  return text === undefined ? rules : rules.within(prefix + below, text)
}

function entriesOf(folder: string): Dirent[] | undefined {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    return platformError(error) === 'ENOENT' ? [] : undefined // Gone meanwhile, or not ours to open.
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined // Not ours to see.
  }
}
