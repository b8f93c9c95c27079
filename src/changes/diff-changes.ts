import { readFileSync } from 'node:fs'
import type { SessionId } from '../core/ids.ts'
import type { FileWrite } from '../session/file-writes.ts'
import type { Store } from '../store/create-store.ts'
import { findSnapshot } from '../tools/snapshots.ts'
import { unifiedDiff } from '../tools/unified-diff.ts'
import { hashOf } from '../tools/workspace-files.ts'
import { type ChangeScope, type Changes, loadChanges } from './load-changes.ts'
import { shownPath } from './undo-changes.ts'

/** What one session of a run changed. `whole`: the diff is of all its writes in one; else it is one after the other. */
export type JobDiff = {
  session: SessionId
  alias: string
  agent: string
  branch?: string
  files: { path: string; diff: string; whole: boolean }[]
}

/** What a run's tools changed, by job; jobs without changes are left out. */
export type RunDiff = { jobs: JobDiff[]; shellCommands: number }

/** Reads only. Throws `unknown-session`, `unknown-job`. */
export function diffChanges(store: Store, scope: ChangeScope): RunDiff {
  const changes = loadChanges(store, scope)
  const jobs = changes.sessions.map(({ session, alias, agent, dir, branch }): JobDiff => {
    const own = changes.meant.filter((write) => write.session === session)
    const paths = [...new Set(own.map(({ path }) => path))]
    const files = paths.map((path) => fileDiff(path, own, { changes, dir, snapshotDir: store.snapshotDir }))
    return { session, alias, agent, ...(branch && { branch }), files: files.filter(({ diff }) => diff !== '') }
  })
  return { jobs: jobs.filter(({ files }) => files.length > 0), shellCommands: changes.shellCommands }
}

type Context = { changes: Changes; dir: string; snapshotDir: string }

function fileDiff(path: string, own: FileWrite[], context: Context): JobDiff['files'][number] {
  const writes = own.filter((write) => write.path === path)
  const name = shownPath(path, context.dir)
  const whole = writes.length > 1 || isCut(writes[0]!) ? wholeDiff(name, writes, context) : writes[0]!.diff
  if (whole !== undefined) return { path, diff: whole, whole: true }
  return { path, diff: writes.map(({ diff }) => diff ?? '').join(''), whole: writes.length === 1 }
}

function isCut({ diff }: FileWrite): boolean {
  return diff === undefined || /\n\.\.\. \[\d+ more characters\]$/.test(diff)
}

/** From before the first write to after the last, if all between was this session's and both contents can be found. */
function wholeDiff(name: string, writes: FileWrite[], context: Context): string | undefined {
  const [first] = writes
  const last = writes.at(-1)
  const isUnbroken = writes.every((write, n) => n === 0 || write.before?.hash === writes[n - 1]!.hash)
  if (!first?.before || !last || !isUnbroken) return undefined
  const { snapshotDir } = context
  const before =
    first.before.hash === undefined
      ? Buffer.alloc(0)
      : first.before.kept === undefined
        ? undefined
        : findSnapshot(snapshotDir, first.before.kept)
  const after = contentOf(last, context)
  return before && after && unifiedDiff(name, before, after).diff
}

/** What a write left: it is there still, or was kept when another one replaced it. */
function contentOf({ path, hash }: FileWrite, { changes, snapshotDir }: Context): Buffer | undefined {
  const now = readNow(path)
  if (now && hashOf(now) === hash) return now
  const kept = changes.all.find((write) => write.path === path && write.before?.hash === hash)?.before?.kept
  return kept === undefined ? undefined : findSnapshot(snapshotDir, kept)
}

function readNow(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined // Removed since: then only a snapshot has it.
  }
}
