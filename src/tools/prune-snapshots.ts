import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const dayMs = 24 * 60 * 60 * 1000

/** How long a kept content can be gone back to. */
export const snapshotAgeMs = 30 * dayMs

/**
 * Removes what was kept longer ago than `snapshotAgeMs`, and what a crash has left half written; at most once a day. `now`
 * is in wall-clock milliseconds. Never rejects: what cannot be removed now is next time.
 */
export async function pruneSnapshots(dir: string, now: number): Promise<void> {
  const mark = `${dir}.pruned`
  if (now - (await keptAt(mark, 0)) < dayMs) return
  try {
    await writeFile(mark, '')
    await utimes(mark, now / 1000, now / 1000)
    for (const folder of await foldersOf(dir)) await pruneFolder(folder, now)
  } catch {
    // Another process prunes as well, or the folder cannot be written: nothing depends on it.
  }
}

async function foldersOf(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(dir, name))
}

async function pruneFolder(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const age = now - (await keptAt(path, now))
    if (age > (name.endsWith('.tmp') ? dayMs : snapshotAgeMs)) await rm(path, { force: true })
  }
}

async function keptAt(path: string, missing: number): Promise<number> {
  try {
    return (await stat(path)).mtimeMs
  } catch {
    return missing
  }
}
