import { RuntimeError } from '../core/errors.ts'
import { parseSessionId, type SessionId } from '../core/ids.ts'
import type { SessionSeed } from '../core/records.ts'
import { type FileWrite, type Launch, type Moment, writesOf } from '../session/file-writes.ts'
import type { Store } from '../store/create-store.ts'

/** Which changes are meant: of a session and all under it, of one job under it, of one turn. */
export type ChangeScope = { session: string; job?: string; turn?: number }

export type ChangedSession = { session: SessionId; alias: string; agent: string; dir: string; branch?: string }

/** What the tools of a tree changed. */
export type Changes = {
  root: SessionId
  /** Of the whole tree, oldest first. */
  all: FileWrite[]
  /** Those that are meant. */
  meant: FileWrite[]
  /** Sessions that are meant, parents first, in the order of their launch. */
  sessions: ChangedSession[]
  /** By id, of the whole tree. */
  names: ReadonlyMap<SessionId, ChangedSession>
  /** Shell commands among what is meant: nobody knows what they changed. */
  shellCommands: number
}

/** Reads what is meant from the journals of its tree. Throws `unknown-session`, `unknown-job`. */
export function loadChanges(store: Store, { session, job, turn }: ChangeScope): Changes {
  const asked = parseSessionId(session)
  const root = store.findRoot(asked)
  if (!root) {
    throw new RuntimeError('unknown-session', `There is no session ${session}. List them: troupe sessions`)
  }
  const tree = loadTree(store, root)
  const start = job === undefined ? asked : findJob(tree, asked, job)
  const all = [...tree.parts.values()].flatMap(({ writes }) => writes).sort(byTime)
  const isMeant = (of: { session: SessionId } & Moment) => {
    const moment = momentIn(tree, start, of)
    return moment !== undefined && (turn === undefined || moment.turn === turn)
  }
  const commands = [...tree.parts].flatMap(([id, part]) => part.commands.map((one) => ({ ...one, session: id })))
  return {
    root,
    all,
    meant: all.filter(isMeant),
    sessions: underneath(tree, start),
    names: tree.names,
    shellCommands: commands.filter(isMeant).length,
  }
}

type Tree = {
  parts: Map<SessionId, ReturnType<typeof writesOf>>
  names: Map<SessionId, ChangedSession>
  /** How each child was sent, by `session#generation`. */
  launches: Map<string, Launch & { parent: SessionId }>
}

function loadTree(store: Store, root: SessionId): Tree {
  const tree: Tree = { parts: new Map(), names: new Map(), launches: new Map() }
  for (const session of store.sessionsOf(root)) {
    const records = store.read({ root, session })
    const first = records[0]
    const part = writesOf(records, session)
    tree.parts.set(session, part)
    if (first?.type === 'session.created') tree.names.set(session, nameOf(first.seed))
    for (const launch of part.launches) {
      tree.launches.set(`${launch.job}#${launch.generation}`, { ...launch, parent: session })
    }
  }
  return tree
}

function nameOf({ session, parent, agent, dir, worktree }: SessionSeed): ChangedSession {
  return {
    session,
    alias: parent?.alias ?? agent.name,
    agent: agent.name,
    dir,
    ...(worktree && { branch: worktree.branch }),
  }
}

/** By alias: a child of the session itself, else the only one of that name under it. */
function findJob(tree: Tree, under: SessionId, alias: string): SessionId {
  const found = underneath(tree, under).filter((one) => one.session !== under && one.alias === alias)
  const own = found.find(({ session }) => session === `${under}-${alias}`)
  if (own) return own.session
  if (found.length === 1) return found[0]!.session
  const known = underneath(tree, under).flatMap((one) => (one.session === under ? [] : one.alias))
  const why = found.length > 1 ? `There are several jobs ${alias}; name one by its session` : `There is no job ${alias}`
  throw new RuntimeError('unknown-job', `${why} in ${under}. Jobs: ${[...new Set(known)].join(', ') || 'none'}.`)
}

function underneath(tree: Tree, session: SessionId): ChangedSession[] {
  const own = tree.names.get(session)
  const children = new Set(tree.parts.get(session)?.launches.map(({ job }) => job))
  return [...(own ? [own] : []), ...[...children].flatMap((child) => underneath(tree, child))]
}

/** The turn of `start` in which something under it happened; `undefined` when it is not under it. */
function momentIn(
  tree: Tree,
  start: SessionId,
  { session, generation, turn }: { session: SessionId } & Moment,
): Moment | undefined {
  if (session === start) return { generation, turn }
  const launch = tree.launches.get(`${session}#${generation}`)
  return launch && momentIn(tree, start, { session: launch.parent, ...launch.from })
}

/** Writes of one file are in the order of its lock; of one millisecond, what was there before tells. */
function byTime(one: FileWrite, other: FileWrite): number {
  if (one.at !== other.at) return one.at - other.at
  if (one.session === other.session) return one.seq - other.seq
  if (one.path === other.path && other.before?.hash === one.hash) return -1
  return one.path === other.path && one.before?.hash === other.hash ? 1 : one.seq - other.seq
}
