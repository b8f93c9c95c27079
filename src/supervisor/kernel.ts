import type { AgentDefinition, SkillDefinition } from '../core/agent.ts'
import type { Clock } from '../core/clock.ts'
import { RuntimeError } from '../core/errors.ts'
import type { EventBody, PermissionAsk } from '../core/events.ts'
import type { SessionId } from '../core/ids.ts'
import type { FoundFile, ProjectMemory } from '../core/messages.ts'
import type { ModelSpec } from '../core/model.ts'
import type { AskAnswer, PermissionMode, Rule } from '../core/permission.ts'
import type { JournalRecord, Message, RecordBody } from '../core/records.ts'
import type { RunSettings } from '../core/settings.ts'
import { changesOf } from '../jobboard/changes-of.ts'
import type { Board } from '../jobboard/create-board.ts'
import type { Stale } from '../jobboard/reduce-board.ts'
import type { Sandbox } from '../sandbox/create-sandbox.ts'
import type { Store } from '../store/create-store.ts'
import type { StoredAnswers } from '../store/stored-answers.ts'
import type { Host } from '../workers/host.ts'
import type { Asks } from './asks.ts'
import type { Claims } from './claims.ts'
import type { Control } from './control.ts'
import type { Deadlines } from './deadlines.ts'
import type { EventStream } from './event-stream.ts'
import { eventsOf } from './events-of.ts'
import type { Finishing } from './finish.ts'
import { createFoldedStates, type FoldedStates } from './folded-states.ts'
import type { Launching } from './launch.ts'
import type { Locks } from './locks.ts'
import type { createPartials } from './partials.ts'
import type { Placement } from './placement.ts'
import type { Processes } from './processes.ts'
import type { Runs } from './runs.ts'
import { newEntry, refOf, type SessionEntry, summarise } from './session-entry.ts'
import type { Slots } from './slots.ts'
import type { Stalls } from './stalls.ts'
import type { Stopping } from './stop.ts'
import type { Waits } from './waits.ts'
import type { Worktrees } from './worktrees.ts'

/** A model ready for use: how to reach it, and how many requests its server takes at once. */
export type ReadyModel = { spec: ModelSpec; slots: number | null }

/** What the supervisor is given. */
export type SupervisorOptions = {
  store: Store
  clock: Clock
  settings: RunSettings
  agents: ReadonlyMap<string, AgentDefinition>
  /** How an agent may work in this process: one of an untrusted folder perhaps only reads. Missing: as it is. */
  asWorking?(agent: AgentDefinition): AgentDefinition
  skills: SkillDefinition[]
  /** What the project of a folder says to its agents; called once for each session, so it must be cheap. */
  loadMemory?(dir: string): ProjectMemory
  /** Resolves a model reference; rejects with a `RuntimeError` that names the remedy. */
  readyModel(ref: string): Promise<ReadyModel>
  /** A model asked for by flag: also counts for sessions that were begun with another one. */
  modelOverride?: string
  permissionMode: PermissionMode
  /** A person, or code in its place. Missing: asks are denied at once. */
  onAsk?: (ask: PermissionAsk) => Promise<AskAnswer>
  /** Where commands run; missing: like any program of the user's. */
  sandbox?: Sandbox
  /** Without `onAsk`: they wait for an answer. */
  keepAsks?: boolean
  /** Time after which a question that nobody answers is denied. */
  askTimeoutMs?: number
  /** What people have answered for good in this project. Missing: nothing can be stored for it. */
  answers?: StoredAnswers
  createHost(options: Parameters<typeof import('../workers/inline-host.ts').createInlineHost>[0]): Host
}

/** The parts of the supervisor, and the one way to add a record. */
export type Kernel = {
  options: SupervisorOptions
  store: Store
  clock: Clock
  board: Board
  stream: EventStream
  entries: Map<SessionId, SessionEntry>
  states: FoldedStates
  host: Host
  locks: Locks
  slots: Slots
  processes: Processes
  partials: ReturnType<typeof createPartials>
  placement: Placement
  launching: Launching
  finishing: Finishing
  asks: Asks
  stopping: Stopping
  runs: Runs
  deadlines: Deadlines
  waits: Waits
  stalls: Stalls
  control: Control
  claims: Claims
  worktrees: Worktrees
  closing: boolean
  /** Appends records to a session's journal, then takes them into summary, board and events. */
  record(entry: SessionEntry, bodies: RecordBody[]): JournalRecord[]
  emit(entry: SessionEntry, body: EventBody): void
  /** A file is not as the session knows it, and nobody here wrote it so. */
  foundFile(entry: SessionEntry, file: FoundFile): void
  /** A text from outside for a session: kept in its mailbox, placed at its next boundary. */
  say(entry: SessionEntry, text: string): void
  /** The same for a message that carries more than a text. */
  tell(entry: SessionEntry, message: Message): void
  /** Shows what a child's job is at, on the board and to the outside. */
  noteJob(entry: SessionEntry, state: 'queued' | 'running' | 'waiting', doing?: string): void
  /** "Always" answers that count for a session: those of its project and of its tree. */
  grantsOf(entry: SessionEntry): Rule[]
  /** The agent of a session, as it may work in this process. */
  workingAgent(agent: AgentDefinition): AgentDefinition
  entry(session: SessionId): SessionEntry
  parentOf(entry: SessionEntry): SessionEntry | undefined
  childrenOf(entry: SessionEntry): SessionEntry[]
  /** The session and all under it, parents first. */
  treeOf(entry: SessionEntry): SessionEntry[]
}

/** The kernel without its parts, which `createSupervisor` fills in. */
export function createKernel(base: Pick<Kernel, 'options' | 'store' | 'clock' | 'board' | 'stream'>): Kernel {
  const entries = new Map<SessionId, SessionEntry>()
  const states = createFoldedStates(base.store)
  const kernel: Omit<Kernel, keyof Parts> & Partial<Parts> = {
    ...base,
    entries,
    states,
    closing: false,
    emit: (entry, body) => base.stream.emit(refOf(entry), body),
    foundFile(entry, { path, hash }) {
      const { root, session } = refOf(entry)
      const stamp = { at: base.clock.now(), seq: entry.lastSeq, n: 0 }
      tellStale({ ...base, entries }, base.board.apply({ type: 'file.found', root, session, path, hash, stamp }))
    },
    record(entry, bodies) {
      const records = base.store.append(refOf(entry), bodies)
      states.add(entry, records)
      for (const record of records) takeRecord({ ...base, entries }, entry, record)
      if (entry.status === 'active') entry.recent.push(...records)
      return records
    },
    say(entry, text) {
      this.tell(entry, { kind: 'user', text })
    },
    tell(entry, message) {
      const records = this.record(entry, [{ type: 'message.received', message }])
      entry.fresh?.push(...records)
      kernel.waits?.written(entry)
      if (entry.status !== 'suspended') kernel.placement?.wake(entry)
    },
    noteJob(entry, state, doing) {
      const { parent } = entry.seed
      if (!parent) return
      const { generation } = entry
      base.board.apply({
        type: 'job.changed',
        job: parent.job,
        generation,
        state,
        ...(doing !== undefined && { doing }),
      })
      const { job, alias } = parent
      base.stream.emit(refOf(entry), {
        type: 'job.updated',
        job,
        alias,
        agent: entry.seed.agent.name,
        generation,
        state,
      })
    },
    workingAgent: (agent) => base.options.asWorking?.(agent) ?? agent,
    grantsOf({ seed }) {
      const ofProject = base.options.answers?.list().map(({ rule }) => rule) ?? []
      return [...ofProject, ...this.entry(seed.root).grants]
    },
    entry(session) {
      const entry = entries.get(session)
      if (entry) return entry
      throw new RuntimeError('unknown-session', `There is no session ${session} here. List them: troupe sessions`)
    },
    parentOf: ({ seed }) => seed.parent && entries.get(seed.parent.session),
    childrenOf: (entry) => [...childrenIn(entries, entry)],
    treeOf: (entry) => [...treeIn(entries, entry)],
  }
  return kernel as Kernel
}

function* childrenIn(entries: Kernel['entries'], { jobs }: SessionEntry): Iterable<SessionEntry> {
  for (const job of jobs.keys()) {
    const child = entries.get(job as string as SessionId)
    if (child) yield child
  }
}

function* treeIn(entries: Kernel['entries'], entry: SessionEntry): Iterable<SessionEntry> {
  yield entry
  for (const child of childrenIn(entries, entry)) yield* treeIn(entries, child)
}

type Parts = Pick<
  Kernel,
  | 'host'
  | 'locks'
  | 'slots'
  | 'processes'
  | 'partials'
  | 'placement'
  | 'launching'
  | 'finishing'
  | 'asks'
  | 'stopping'
  | 'runs'
  | 'deadlines'
  | 'waits'
  | 'stalls'
  | 'control'
  | 'claims'
  | 'worktrees'
>

/** An entry made from records that are in the journal already. */
export function entryFromRecords(records: JournalRecord[]): SessionEntry | undefined {
  const first = records[0]
  if (first?.type !== 'session.created') return undefined
  const entry = newEntry(first.seed)
  for (const record of records) summarise(entry, record)
  return entry
}

/** Tells the board and the outside of a record. */
function takeRecord(
  { board, stream, entries }: Pick<Kernel, 'board' | 'stream' | 'entries'>,
  entry: SessionEntry,
  record: JournalRecord,
): void {
  const ref = refOf(entry)
  const taken = summarise(entry, record)
  const stale = changesOf(record, ref).flatMap((change) => board.apply(change))
  for (const event of eventsOf(entry, record, taken)) stream.emit(ref, event)
  tellStale({ stream, entries }, stale)
}

function tellStale({ stream, entries }: Pick<Kernel, 'stream' | 'entries'>, stale: Stale[]): void {
  for (const { session, path, by } of stale) {
    const reader = entries.get(session)
    if (reader) stream.emit(refOf(reader), { type: 'context.stale', path, by })
  }
}
