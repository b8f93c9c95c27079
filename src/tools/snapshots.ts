import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RuntimeError } from '../core/errors.ts'
import { pruneSnapshots } from './prune-snapshots.ts'
import { hashOf, platformError } from './workspace-files.ts'

/**
 * Keeps the content of a file in a folder of snapshots and returns its name there: its hash, so that equal contents are
 * kept once, from then on. Throws `not-kept` when it cannot be written.
 */
export function keepSnapshot(dir: string, bytes: Buffer): string {
  const name = hashOf(bytes)
  const path = snapshotPath(dir, name)
  pruneOnce(dir)
  if (keepsAgain(path)) return name
  const fresh = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    mkdirSync(join(dir, name.slice(0, 2)), { recursive: true, mode: 0o700 })
    writeFileSync(fresh, bytes, { mode: 0o600, flag: 'wx' })
    renameSync(fresh, path)
  } catch (cause) {
    rmSync(fresh, { force: true })
    const message = `Nothing was done: what is to be kept first could not be written to ${dir} (${platformError(cause)}). Make room there.`
    throw new RuntimeError('not-kept', message, { cause })
  }
  return name
}

/** The time for which a content is kept begins anew. */
function keepsAgain(path: string): boolean {
  try {
    const now = new Date()
    utimesSync(path, now, now)
    return true
  } catch {
    return false // It is not there, or has just been removed.
  }
}

const pruned = new Set<string>()

/** Old contents are removed beside the work, by the first write of a thread. */
function pruneOnce(dir: string): void {
  if (pruned.has(dir)) return
  pruned.add(dir)
  void pruneSnapshots(dir, Date.now())
}

/** A kept content; `undefined` when it is not there, or is not what its name says. */
export function findSnapshot(dir: string, name: string): Buffer | undefined {
  try {
    const bytes = readFileSync(snapshotPath(dir, name))
    return hashOf(bytes) === name ? bytes : undefined
  } catch {
    return undefined // Removed by somebody: there is nothing to go back to.
  }
}

/** Names come from journals: nothing but a hash is ever made a path of. */
function snapshotPath(dir: string, name: string): string {
  if (!/^[\w-]{10,64}$/.test(name)) throw new RuntimeError('bad-snapshot', `"${name}" is no snapshot's name.`)
  return join(dir, name.slice(0, 2), name)
}
