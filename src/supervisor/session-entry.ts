import type { AgentLimits } from '../core/agent.ts'
import type { AskId, CallId, JobId, SessionId, WorkerId } from '../core/ids.ts'
import type { ProjectMemory } from '../core/messages.ts'
import type { Usage } from '../core/model.ts'
import type { Rule } from '../core/permission.ts'
import type { EndState, JobResult, JournalRecord, Message, SessionSeed } from '../core/records.ts'
import { deliveryKey } from '../session/fold.ts'

/** A job as its parent's entry knows it. */
export type ChildEntry = {
  job: JobId
  alias: string
  agent: string
  generation: number
  call: CallId
  background: boolean
  /** Globs that it was sent to write, relative to its folder; they count while it is at work. */
  claims?: string[]
  /** Its result is in the parent's history, or kept as undeliverable: nothing is open any more. */
  delivered: boolean
  undeliverable?: boolean
  /** How it ended; also set when its result was kept as undeliverable. */
  state?: EndState
}

/**
 * What the main thread knows of a session: a summary, kept by `summarise` from every record. Its history stays in the
 * journal; an activation folds it.
 */
export type SessionEntry = {
  seed: SessionSeed
  status: 'idle' | 'queued' | 'active' | 'suspended' | 'ended'
  /** Stops under way: while there is one, nothing is started for it. */
  stopping: number
  /** Those of them after which it is over, or a root at rest: results of its jobs have no turn to go to any more. */
  ending: number
  /** A child that waits until fewer of its siblings are at work. */
  held: boolean
  epoch: number
  worker?: WorkerId
  lastSeq: number
  turn: number
  generation: number
  /** The whole journal of a session that has not been activated yet: saves reading it back. */
  fresh?: JournalRecord[]
  /** Records appended since the present activation began and not yet seen by its worker. */
  recent: JournalRecord[]
  /** Messages that no turn has taken, by seq. */
  waiting: Map<number, Message>
  /** Every result placed or waiting, by `job#generation`. */
  received: Set<string>
  jobs: Map<JobId, ChildEntry>
  asks: Set<AskId>
  /** Side-effecting calls that have begun and have no result. */
  started: Set<CallId>
  /** Calls at work in the present activation. */
  running: Set<CallId>
  /** Canonical tool names of the calls of the last assistant message. */
  tools: Map<CallId, string>
  grants: Rule[]
  /** Its last turn was stopped. */
  interrupted: boolean
  /** Text of the last answer, known when it is idle. */
  text: string
  usage: Usage
  /** Bounds that this run was given; they count over those of its journal. */
  limits?: AgentLimits
  /** What the project said when it was first activated. */
  memory?: ProjectMemory
  /** Of its model; known once it has been activated. */
  contextTokens?: number
  /** Characters of results that one of its turns may place; known once it has opened one. */
  turnRoom?: number
  restarts: number
  /** The generation whose launch, and all above it, are known to be on the disk. */
  launchOnDisk?: number
  end?: JobResult
}

/** An entry for a session that has no records yet. */
export function newEntry(seed: SessionSeed): SessionEntry {
  return {
    seed,
    status: 'idle',
    stopping: 0,
    ending: 0,
    held: false,
    epoch: 0,
    lastSeq: 0,
    turn: 0,
    generation: 1,
    recent: [],
    waiting: new Map(),
    received: new Set(),
    jobs: new Map(),
    asks: new Set(),
    started: new Set(),
    running: new Set(),
    tools: new Map(),
    grants: [],
    interrupted: false,
    text: '',
    usage: { inputTokens: 0, outputTokens: 0 },
    restarts: 0,
  }
}

/** Takes one record into the summary; returns the messages that a turn has taken with it. */
export function summarise(entry: SessionEntry, record: JournalRecord): Message[] {
  entry.lastSeq = record.seq
  if (record.type === 'turn.started') return startTurn(entry, record)
  take(entry, record)
  return []
}

function startTurn(entry: SessionEntry, record: Extract<JournalRecord, { type: 'turn.started' }>): Message[] {
  entry.turn = record.turn
  entry.interrupted = false
  entry.epoch = Math.max(entry.epoch, record.epoch)
  const taken = record.consumed.flatMap((seq) => entry.waiting.get(seq) ?? [])
  for (const seq of record.consumed) entry.waiting.delete(seq)
  for (const message of taken) {
    if (message.kind === 'result') markDelivered(entry, { ...message, state: message.result.state })
  }
  return taken
}

function take(entry: SessionEntry, record: JournalRecord): void {
  switch (record.type) {
    case 'message.received':
      if (record.message.kind === 'result') {
        entry.received.add(deliveryKey(record.message.job, record.message.generation))
      } else if (entry.status === 'ended') {
        entry.status = 'idle'
        entry.generation += 1
        entry.end = undefined
      }
      entry.waiting.set(record.seq, record.message)
      return
    case 'assistant.message':
      if (record.text !== '') entry.text = record.text
      entry.usage.inputTokens += record.usage.inputTokens
      entry.usage.outputTokens += record.usage.outputTokens
      entry.tools = new Map(record.calls.map(({ id, tool }) => [id, tool]))
      return
    case 'turn.interrupted':
      entry.interrupted = true
      entry.started.clear()
      entry.asks.clear()
      return
    case 'call.started':
      entry.started.add(record.call)
      return
    case 'call.finished':
      entry.started.delete(record.call)
      entry.running.delete(record.call)
      if (record.job) markDelivered(entry, record.job)
      return
    case 'ask.requested':
      entry.asks.add(record.id)
      return
    case 'ask.resolved':
      entry.asks.delete(record.id)
      return
    case 'grant.added':
      entry.grants.push(record.rule)
      return
    case 'job.launched': {
      const { job, alias, generation, call, background, claims, seed } = record
      const agent = seed.agent.name
      entry.jobs.set(job, { job, alias, agent, generation, call, background, claims, delivered: false })
      return
    }
    case 'job.moved': {
      const child = entry.jobs.get(record.job)
      if (child?.generation === record.generation) child.background = true
      return
    }
    case 'result.undeliverable': {
      const child = entry.jobs.get(record.job)
      if (child?.generation === record.generation) child.undeliverable = true
      for (const [seq, message] of entry.waiting) {
        if (message.kind === 'result' && message.job === record.job && message.generation === record.generation) {
          entry.waiting.delete(seq)
        }
      }
      markDelivered(entry, { job: record.job, generation: record.generation, state: record.result.state })
      return
    }
    case 'session.ended':
      if (record.generation !== entry.generation) return
      entry.status = 'ended'
      entry.end = record.result
      entry.started.clear()
      entry.asks.clear()
      return
  }
}

function markDelivered(
  entry: SessionEntry,
  { job, generation, state }: { job: JobId; generation: number; state: EndState },
): void {
  entry.received.add(deliveryKey(job, generation))
  const child = entry.jobs.get(job)
  if (child?.generation !== generation) return
  child.delivered = true
  child.state = state
}

/** Jobs that are not over, or whose result the session has not taken up. */
export function openJobs(entry: SessionEntry): ChildEntry[] {
  return [...entry.jobs.values()].filter(({ delivered }) => !delivered)
}

export function isChild(entry: SessionEntry): entry is SessionEntry & { seed: SessionSeed & { parent: object } } {
  return entry.seed.parent !== undefined
}

/**
 * The next alias for an agent: its first three letters and a counter per parent. `isUsed`: of a child whose launch a
 * crash has taken from its parent's journal.
 */
export function nextAlias(entry: SessionEntry, agent: string, isUsed: (alias: string) => boolean): string {
  const letters =
    agent
      .toLowerCase()
      .replace(/[^a-z0-9]/g, '')
      .slice(0, 3) || 'job'
  let count = 1
  for (const { alias } of entry.jobs.values()) if (alias.startsWith(`${letters}-`)) count += 1
  while (isUsed(`${letters}-${count}`)) count += 1
  return `${letters}-${count}`
}

export type SessionIds = { root: SessionId; session: SessionId }

export function refOf({ seed }: SessionEntry): SessionIds {
  return { root: seed.root, session: seed.session }
}
