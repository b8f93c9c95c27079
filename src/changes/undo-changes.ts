import { realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { isAbort, messageOf } from '../core/errors.ts'
import type { FileWrite } from '../session/file-writes.ts'
import type { Store } from '../store/create-store.ts'
import { replaceFile } from '../tools/change-file.ts'
import { findSnapshot } from '../tools/snapshots.ts'
import type { ResolvedPath } from '../tools/workspace.ts'
import { type LoadedFile, loadFile, statFile } from '../tools/workspace-files.ts'
import { type ChangeScope, type Changes, loadChanges } from './load-changes.ts'

/** What an undo did, by absolute path. `removed`: the run had made the file. `left`: untouched, and why. */
export type UndoOutcome = {
  restored: string[]
  removed: string[]
  left: { path: string; why: string }[]
  /** Shell commands of what was undone: what they changed is as it was. */
  shellCommands: number
}

/**
 * Puts files back to what they were before the changes that are meant: those that nobody has changed since, by hash. Holds
 * the lock of the root session meanwhile. Throws `session-locked` while it is at work, `unknown-session`, `unknown-job`.
 */
export async function undoChanges(store: Store, scope: ChangeScope): Promise<UndoOutcome> {
  const { root } = loadChanges(store, scope)
  const lock = store.lockRoot(root)
  try {
    return await undoAll(store, loadChanges(store, scope))
  } finally {
    lock.release()
  }
}

async function undoAll({ snapshotDir }: Store, changes: Changes): Promise<UndoOutcome> {
  const outcome: UndoOutcome = { restored: [], removed: [], left: [], shellCommands: changes.shellCommands }
  for (const path of [...new Set(changes.meant.map((write) => write.path))].sort()) {
    const done = await undoOne(path, changes, snapshotDir)
    if (typeof done === 'string') outcome[done].push(path)
    else if (done.why !== '') outcome.left.push({ path, ...done })
  }
  return outcome
}

type Done = 'restored' | 'removed' | { why: string }

const asBefore = { why: '' }

async function undoOne(path: string, changes: Changes, snapshotDir: string): Promise<Done> {
  const { first, last, why } = span(path, changes)
  if (why !== undefined) return { why }
  const file: ResolvedPath = { path, relative: path, outside: true }
  try {
    const now = await loadNow(file)
    if (now?.hash === first.before?.hash) return asBefore
    const branch = now ? undefined : changes.names.get(last.session)?.branch
    if (branch) return { why: `its worktree is gone; what was written is on branch ${branch}` }
    if (now?.hash !== last.hash) return { why: now ? 'it was changed afterwards' : 'it was removed afterwards' }
    return await putBack(file, first, now, snapshotDir)
  } catch (thrown) {
    if (isAbort(thrown)) throw thrown
    return { why: messageOf(thrown) }
  }
}

/** From the first to the last write that is meant, if nothing else came between or after. */
function span(path: string, changes: Changes): { first: FileWrite; last: FileWrite; why?: string } {
  const ours = new Set(changes.meant)
  const writes = changes.all.filter((write) => write.path === path)
  const since = writes.slice(writes.findIndex((write) => ours.has(write)))
  const first = since[0]!
  const last = since.at(-1)!
  const other = since.find((write) => !ours.has(write))
  if (other) {
    const { alias } = changes.names.get(other.session) ?? { alias: other.session }
    return { first, last, why: `${alias} changed it afterwards, in its turn ${other.turn}` }
  }
  if (!first.before) return { first, last, why: 'nothing was kept of what it was' }
  const isBroken = since.some((write, n) => n > 0 && write.before?.hash !== since[n - 1]!.hash)
  if (isBroken) return { first, last, why: 'a command or another program changed it in between' }
  return { first, last }
}

function loadNow(file: ResolvedPath): Promise<LoadedFile | undefined> {
  if (!statFile(file)) return Promise.resolve(undefined)
  return loadFile(file, new AbortController().signal)
}

async function putBack(
  file: ResolvedPath,
  { before }: FileWrite,
  now: LoadedFile | undefined,
  snapshotDir: string,
): Promise<Done> {
  const folder = dirname(file.path)
  if (realpathSync.native(folder) !== folder) return { why: 'its folder is another one by now' }
  if (before?.hash === undefined) {
    await rm(file.path)
    return 'removed'
  }
  const bytes = before.kept === undefined ? undefined : findSnapshot(snapshotDir, before.kept)
  if (!bytes || !now) return { why: 'the copy of what it was is gone' }
  await replaceFile(file, bytes, { ...now.stat, mode: before.mode ?? now.stat.mode })
  return 'restored'
}

/** A path as people read it: from the folder of the run where it lies below that. */
export function shownPath(path: string, dir: string): string {
  const short = relative(dir, path)
  return short === '' || short.startsWith('..') ? path : short
}
