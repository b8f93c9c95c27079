import { type Dirent, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

const maxDepth = 4
const skipped = new Set(['node_modules'])

/** Real paths of folders that have been listed: a folder and a link to it are read once. */
export type Seen = Set<string>

/**
 * Absolute paths below a folder for which `isWanted` holds, in the order of their text; empty if there is no such
 * folder. Below a folder in which something was found and `stopsAtFind` is set, nothing more is looked for. Links to
 * folders are followed only at the top.
 */
export function listFiles(
  folder: string,
  isWanted: (entry: Dirent) => boolean,
  { seen, stopsAtFind = false }: { seen: Seen; stopsAtFind?: boolean },
): string[] {
  const entries = entriesOf(folder)
  if (!entries) return []
  const real = realpathSync.native(folder)
  if (seen.has(real)) return []
  seen.add(real)
  return below(folder, entries, { isWanted, stopsAtFind, depth: 0 }).sort(byText)
}

/** Compares by code units: the same on every machine. */
function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

type Search = { isWanted: (entry: Dirent) => boolean; stopsAtFind: boolean; depth: number }

function below(folder: string, entries: Dirent[], search: Search): string[] {
  const found = entries.filter(search.isWanted).map(({ name }) => join(folder, name))
  if ((search.stopsAtFind && found.length > 0) || search.depth >= maxDepth) return found
  const inner = entries
    .filter((entry) => isFolderToSearch(entry, search))
    .flatMap(({ name }) => {
      const path = join(folder, name)
      return below(path, entriesOf(path) ?? [], { ...search, depth: search.depth + 1 })
    })
  return [...found, ...inner]
}

function isFolderToSearch(entry: Dirent, { isWanted, stopsAtFind, depth }: Search): boolean {
  if (isWanted(entry) || skipped.has(entry.name) || entry.name.startsWith('.')) return false
  return entry.isDirectory() || (stopsAtFind && depth === 0 && entry.isSymbolicLink())
}

function entriesOf(folder: string): Dirent[] | undefined {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    // Not there, not a folder or not ours to read: nothing to load from it.
    return undefined
  }
}
