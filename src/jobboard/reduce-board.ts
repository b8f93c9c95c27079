import { unreachable } from '../core/errors.ts'
import type { JobId, SessionId } from '../core/ids.ts'
import type { BoardChange } from './board-change.ts'
import type { BoardState, SessionEntry } from './board-state.ts'
import { type FileEntry, findFile, forgetReader, isStale, touchFile } from './context-file.ts'
import * as jobs from './job-entry.ts'
import { add, toArray } from './list.ts'
import { PersistentMap } from './persistent-map.ts'

type Of<Type extends BoardChange['type']> = Extract<BoardChange, { type: Type }>

/** A session learns that what it knows of a file is old. */
export type Stale = { session: SessionId; path: string; by: SessionId }

export type Reduced = { state: BoardState; stale: Stale[] }

/** The board after a change, and who has to be told of a file. Pure; costs about the same however large the board is. */
export function reduceBoard(state: BoardState, change: BoardChange): Reduced {
  if (change.type === 'file.touched') return touch(state, change)
  if (change.type === 'file.found') return find(state, change)
  return { state: reduce(state, change), stale: [] }
}

function reduce(state: BoardState, change: Exclude<BoardChange, { type: 'file.touched' | 'file.found' }>): BoardState {
  switch (change.type) {
    case 'session.created':
      return withSession(state, change, (entry) => entry)
    case 'job.launched':
      return launch(state, change)
    case 'job.moved':
      return withJob(state, change, (entry) => jobs.moveJob(entry, change.generation))
    case 'job.changed':
      return changeLive(state, change)
    case 'job.finished':
      return withJob(state, change, (entry) => jobs.finishJob(entry, change.generation, change.end))
    case 'result.undeliverable':
      return withJob(state, change, (entry) => jobs.tellEnd(entry, change.generation, change.end))
    case 'result.received':
      return receive(state, change)
    case 'turn.started':
      return startTurn(state, change)
    case 'usage.added':
      return withJob(state, { ...change, job: jobOf(change.session) }, (entry) => jobs.addUsage(entry, change.usage))
    case 'job.delivered':
      return deliver(state, change)
    case 'notices.taken':
      return takeNotices(state, change)
    case 'session.forgotten':
      return forgetSession(state, change.session)
    case 'root.forgotten':
      return forgetRoot(state, change.root)
    default:
      return unreachable(change)
  }
}

function launch(state: BoardState, change: Of<'job.launched'>): BoardState {
  const isKnown = state.jobs.get(change.job)?.launch !== undefined
  const next = withJob(state, change, (entry) => jobs.launchJob(entry, change))
  if (isKnown) return next
  const parent = { session: change.parent, root: change.root }
  return withSession(next, parent, (entry) => ({ ...entry, jobs: add(entry.jobs, change.job) }))
}

// Not from a journal: it never brings a job back that has been forgotten.
function changeLive(state: BoardState, change: Of<'job.changed'>): BoardState {
  const known = state.jobs.get(change.job)
  return known === undefined ? state : { ...state, jobs: state.jobs.set(change.job, jobs.changeJob(known, change)) }
}

function receive(state: BoardState, change: Of<'result.received'>): BoardState {
  const { job, root, parent, generation, seq, end } = change
  const told = withJob(state, change, (entry) => jobs.tellEnd(entry, generation, end))
  return withSession(told, { session: parent, root }, (entry) => ({
    ...entry,
    received: entry.received.set(String(seq), { job, root, generation }),
  }))
}

function startTurn(state: BoardState, { session, root, consumed }: Of<'turn.started'>): BoardState {
  let next = session === root ? state : withJob(state, { job: jobOf(session), root }, jobs.addTurn)
  for (const seq of consumed) {
    const result = next.sessions.get(session)?.received.get(String(seq))
    if (result === undefined) continue
    next = withJob(next, result, (entry) => jobs.deliverJob(entry, result.generation))
    next = withSession(next, { session, root }, (entry) => ({ ...entry, received: entry.received.delete(String(seq)) }))
  }
  return next
}

function deliver(state: BoardState, change: Of<'job.delivered'>): BoardState {
  const { generation, end } = change
  return withJob(state, change, (entry) => {
    const told = end === undefined ? entry : jobs.tellEnd(entry, generation, end)
    return jobs.deliverJob(told, generation)
  })
}

function touch(state: BoardState, change: Of<'file.touched'>): Reduced {
  const { session, root } = change
  const { path } = change.touch
  const before = state.files.get(path)
  const after = touchFile(before, change)
  const isNew = before?.readers.get(session) === undefined
  let next: BoardState = { ...state, files: state.files.set(path, after) }
  next = withSession(next, { session, root }, (entry) => (isNew ? { ...entry, files: add(entry.files, path) } : entry))
  const hasChanged = before !== undefined && before.current.hash !== after.current.hash
  const judged = hasChanged ? ([...after.readers.keys()] as SessionId[]) : [session]
  return noteStale(next, { before, after }, judged)
}

function find(state: BoardState, { session, path, hash, stamp }: Of<'file.found'>): Reduced {
  const before = state.files.get(path)
  if (before?.readers.get(session) === undefined) return { state, stale: [] }
  const after = findFile(before, hash, { ...stamp, session })
  if (after === before) return { state, stale: [] }
  const next = { ...state, files: state.files.set(path, after) }
  return noteStale(next, { before, after }, [...after.readers.keys()] as SessionId[])
}

/** Notices for those readers that do not know the present content any more, and for those that do again none. */
function noteStale(
  state: BoardState,
  { before, after }: { before: FileEntry | undefined; after: FileEntry },
  judged: SessionId[],
): Reduced {
  const { path } = after
  let next = state
  const stale: Stale[] = []
  for (const reader of judged) {
    const known = before?.readers.get(reader)
    const wasStale = before !== undefined && known !== undefined && isStale(before, known)
    const isNowStale = isStale(after, after.readers.get(reader)!)
    if (wasStale === isNowStale) continue
    if (isNowStale) stale.push({ session: reader, path, by: after.current.mark.session })
    next = withNotices(next, reader, (notices) => (isNowStale ? notices.set(path, true) : notices.delete(path)))
  }
  return { state: next, stale }
}

function takeNotices(state: BoardState, { session, paths }: Of<'notices.taken'>): BoardState {
  return withNotices(state, session, (notices) => paths.reduce((left, path) => left.delete(path), notices))
}

function forgetRoot(state: BoardState, root: SessionId): BoardState {
  const next = toArray(state.roots.get(root)).reduce(forgetSession, state)
  return { ...next, roots: next.roots.delete(root) }
}

function forgetSession(state: BoardState, session: SessionId): BoardState {
  let { files } = state
  for (const path of toArray(state.sessions.get(session)?.files)) {
    const file = files.get(path)
    const left = file && forgetReader(file, session)
    files = left === undefined ? files.delete(path) : files.set(path, left)
  }
  return { ...state, files, jobs: state.jobs.delete(session), sessions: state.sessions.delete(session) }
}

function withJob(
  state: BoardState,
  { job, root }: { job: JobId; root: SessionId },
  change: (entry: jobs.JobEntry) => jobs.JobEntry,
): BoardState {
  const session = job as string as SessionId
  if (session === root) return state
  const next = withSession(state, { session, root }, (entry) => entry)
  return { ...next, jobs: next.jobs.set(job, change(next.jobs.get(job) ?? jobs.emptyJob)) }
}

function withSession(
  state: BoardState,
  { session, root }: { session: SessionId; root: SessionId },
  change: (entry: SessionEntry) => SessionEntry,
): BoardState {
  const known = state.sessions.get(session)
  const after = change(known ?? { root, received: PersistentMap.empty(), notices: PersistentMap.empty() })
  if (after === known) return state
  const roots = known === undefined ? state.roots.set(root, add(state.roots.get(root), session)) : state.roots
  return { ...state, roots, sessions: state.sessions.set(session, after) }
}

function withNotices(
  state: BoardState,
  session: SessionId,
  change: (notices: SessionEntry['notices']) => SessionEntry['notices'],
): BoardState {
  const known = state.sessions.get(session)
  if (known === undefined) return state
  return { ...state, sessions: state.sessions.set(session, { ...known, notices: change(known.notices) }) }
}

function jobOf(session: SessionId): JobId {
  return session as string as JobId
}
