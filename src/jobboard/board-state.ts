import type { JobState } from '../core/events.ts'
import type { JobId, SessionId } from '../core/ids.ts'
import type { Usage } from '../core/model.ts'
import type { JobFacts } from './board-change.ts'
import { type ContextFile, contextFileOf, type FileEntry } from './context-file.ts'
import type { JobEntry } from './job-entry.ts'
import { type List, toArray } from './list.ts'
import { PersistentMap } from './persistent-map.ts'

/** One job, in its current generation. */
export type JobRow = JobFacts & {
  state: JobState
  delivered: boolean
  launchedAt: number
  finishedAt?: number
  turns: number
  usage: Usage
  /** Globs of the files that it alone may write, relative to its folder; only while it is at work. */
  holds?: string[]
  /** The tool it runs, in words; only while it runs. */
  doing?: string
  /** The result, cut at 1,000 characters. */
  text?: string
}

/** What the board keeps of one session. */
export type SessionEntry = {
  root: SessionId
  /** Its own children, in the order of their launch. */
  jobs?: List<JobId>
  /** Files that it touched, in the order of the first touch. */
  files?: List<string>
  /** Results that its journal holds and no turn has taken, by seq. */
  received: PersistentMap<{ job: JobId; root: SessionId; generation: number }>
  /** Paths of files that changed since it knew them, until it is told. */
  notices: PersistentMap<true>
}

/** All that the board knows; never changed, only replaced. */
export type BoardState = {
  jobs: PersistentMap<JobEntry>
  sessions: PersistentMap<SessionEntry>
  /** Sessions by root, in the order in which they came up. */
  roots: PersistentMap<List<SessionId>>
  /** By absolute path. */
  files: PersistentMap<FileEntry>
}

export const emptyBoard: BoardState = {
  jobs: PersistentMap.empty(),
  sessions: PersistentMap.empty(),
  roots: PersistentMap.empty(),
  files: PersistentMap.empty(),
}

export function findRow(state: BoardState, job: JobId): JobRow | undefined {
  return state.jobs.get(job)?.row
}

/** Jobs of one root, or of all, in the order of their launch. */
export function rowsOf(state: BoardState, root?: SessionId): JobRow[] {
  const trees = root === undefined ? [...state.roots.values()] : [state.roots.get(root)]
  return trees
    .flatMap((sessions) => toArray(sessions))
    .map((session) => state.jobs.get(session))
    .filter((entry) => entry?.row !== undefined)
    .sort((one, other) => compareLaunches(one!.launch!, other!.launch!))
    .map((entry) => entry!.row!)
}

type Launch = NonNullable<JobEntry['launch']>

function compareLaunches(one: Launch, other: Launch): number {
  return one.at - other.at || one.seq - other.seq || (one.job < other.job ? -1 : 1)
}

/** The children of one session, in the order of their launch. */
export function rowsUnder(state: BoardState, parent: SessionId): JobRow[] {
  return toArray(state.sessions.get(parent)?.jobs).flatMap((job) => findRow(state, job) ?? [])
}

/** One file, or all, by path. */
export function contextFilesOf(state: BoardState, path?: string): ContextFile[] {
  const entries = path === undefined ? [...state.files.values()] : [state.files.get(path)]
  return entries
    .flatMap((entry) => (entry === undefined ? [] : contextFileOf(entry)))
    .sort((one, other) => (one.path < other.path ? -1 : 1))
}
