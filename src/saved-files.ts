import type { SessionId } from './core/ids.ts'
import { changesOf } from './jobboard/changes-of.ts'
import { type Board, createBoard, type JobRow } from './jobboard/create-board.ts'
import { openStore, rootOf } from './saved-sessions.ts'
import { covers } from './supervisor/claims.ts'

/** A session as a file's row names it; `alias` is the agent's name for a root. `stale`: it knows an older content. */
export type FileUser = { session: SessionId; alias: string; stale: boolean }

/** A file that sessions have in their context, who wrote it, and the job at work that has claimed it. */
export type FileRow = {
  path: string
  readers: FileUser[]
  writers: Omit<FileUser, 'stale'>[]
  holder?: { session: SessionId; alias: string }
}

/** A job with the files that it knows, absolute: those it read or was handed, its own writes included. */
export type SavedJob = JobRow & { dir: string; files: { path: string; wrote: boolean; stale: boolean }[] }

/** Jobs of one root, or of all, as their journals tell. */
export function listJobs(session?: string, dataDir?: string): SavedJob[] {
  const { board, places } = loadBoard(session, dataDir)
  const known = filesByUser(board)
  const jobs = board.rows().map((row) => {
    const files = known.get(row.job) ?? []
    return { ...row, dir: places.get(row.job)?.dir ?? '', files }
  })
  board.close()
  return jobs
}

/** Files that sessions of one root, or of all, have in context, by path. */
export function listFiles(session?: string, dataDir?: string): FileRow[] {
  const { board, places } = loadBoard(session, dataDir)
  const jobs = new Map<string, JobRow>(board.rows().map((row) => [row.job, row]))
  const named = (id: SessionId) => ({ session: id, alias: jobs.get(id)?.alias ?? places.get(id)?.agent ?? id })
  const holders = [...jobs.values()].filter(({ holds }) => holds)
  const rows = board.contextFiles().map(({ path, readers, writers }): FileRow => {
    const holder = holders.find(({ job, holds = [] }) =>
      covers({ globs: holds, dir: places.get(job)?.dir ?? '/' }, path),
    )
    return {
      path,
      readers: readers.map(({ session: id, stale }) => ({ ...named(id), stale })),
      writers: writers.map(({ session: id }) => named(id)),
      ...(holder && { holder: named(holder.job as string as SessionId) }),
    }
  })
  board.close()
  return rows
}

type Place = { agent: string; dir: string }

function loadBoard(session?: string, dataDir?: string): { board: Board; places: Map<string, Place> } {
  const store = openStore(dataDir)
  const roots = session === undefined ? store.list().map((row) => row.session) : [rootOf(store, session)]
  const board = createBoard()
  const places = new Map<string, Place>()
  for (const root of roots) {
    for (const one of store.sessionsOf(root)) {
      const ref = { root, session: one }
      const records = store.read(ref)
      const first = records[0]
      if (first?.type === 'session.created') places.set(one, { agent: first.seed.agent.name, dir: first.seed.dir })
      for (const change of records.flatMap((record) => changesOf(record, ref))) board.apply(change)
    }
  }
  return { board, places }
}

function filesByUser(board: Board): Map<string, SavedJob['files']> {
  const files = new Map<string, SavedJob['files']>()
  for (const { path, readers, writers } of board.contextFiles()) {
    const wrote = new Set(writers.map(({ session }) => session))
    for (const { session, stale } of readers) {
      files.set(session, [...(files.get(session) ?? []), { path, wrote: wrote.has(session), stale }])
    }
  }
  return files
}
