import type { Dirent } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
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
export async function listFiles(
  folder: string,
  isWanted: (entry: Dirent) => boolean,
  { seen, stopsAtFind = false }: { seen: Seen; stopsAtFind?: boolean },
): Promise<string[]> {
  const entries = await entriesOf(folder)
  if (!entries) return []
  const real = await realpath(folder)
  if (seen.has(real)) return []
  seen.add(real)
  return (await below(folder, entries, { isWanted, stopsAtFind, depth: 0 })).sort(byText)
}

/** Compares by code units: the same on every machine. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

type Search = { isWanted: (entry: Dirent) => boolean; stopsAtFind: boolean; depth: number }

async function below(folder: string, entries: Dirent[], search: Search): Promise<string[]> {
  const found = entries.filter(search.isWanted).map(({ name }) => join(folder, name))
  if ((search.stopsAtFind && found.length > 0) || search.depth >= maxDepth) return found
  const inner = entries
    .filter((entry) => isFolderToSearch(entry, search))
    .map(async ({ name }) => {
      const path = join(folder, name)
      return below(path, (await entriesOf(path)) ?? [], { ...search, depth: search.depth + 1 })
    })
  return [...found, ...(await Promise.all(inner)).flat()]
}

function isFolderToSearch(entry: Dirent, { isWanted, stopsAtFind, depth }: Search): boolean {
  if (isWanted(entry) || skipped.has(entry.name) || entry.name.startsWith('.')) return false
  return entry.isDirectory() || (stopsAtFind && depth === 0 && entry.isSymbolicLink())
}

async function entriesOf(folder: string): Promise<Dirent[] | undefined> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch {
    // Not there, not a folder or not ours to read: nothing to load from it.
    return undefined
  }
}
