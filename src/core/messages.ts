import type { AgentDefinition, AgentLimits, SkillDefinition } from './agent.ts'
import type { ErrorData } from './errors.ts'
import type { EventBody } from './events.ts'
import type { CallId, SessionId } from './ids.ts'
import type { ModelSpec } from './model.ts'
import type { AgentLevel, Rule } from './permission.ts'
import type { JournalRecord, LimitReached, RecordBody } from './records.ts'
import type { RunSettings } from './settings.ts'
import type { SessionState } from './state.ts'

/** An agent as another agent's `task` tool lists it. */
export type AgentSummary = { name: string; description: string }

/** A place at a model server that takes `limit` requests at once. */
export type ModelSlot = { server: string; limit: number }

/**
 * What a project says to every agent at work in it: texts, each with the file it comes from, and the absolute path of the
 * file that `update_memory` writes.
 */
export type ProjectMemory = { file: string; parts: { origin: string; text: string }[] }

/** All that a worker needs to run one activation; the main thread keeps none of it. */
export type ActivationTask = {
  session: SessionId
  epoch: number
  state: SessionState
  settings: RunSettings
  /** The session's agent as it may work now; missing: as it stands in its journal. */
  agent?: AgentDefinition
  model: ModelSpec
  /** Missing: the server takes any number of requests at once. */
  slot?: ModelSlot
  /** 1 for every activation of an uninterrupted turn; a retry of the supervisor's raises it. */
  attempt: number
  spawnable: AgentSummary[]
  skills: SkillDefinition[]
  /** The same for the life of a session in one process: the system prompt holds it. */
  memory?: ProjectMemory
  /** "Always" answers of the session's tree and of its project. */
  grants: Rule[]
  /** Rules of the agents above it, the root's first. */
  above: AgentLevel[]
  /** A bound of the whole run that has been reached already. */
  exhausted?: LimitReached
  /** Bounds that count over those of the session's journal. */
  limits?: AgentLimits
  /** Folder for output that was too long to show; made when needed. */
  outputDir: string
  /** Folder of what files were before they were written. */
  snapshotDir: string
}

/** Why a worker gave a session back. */
export type ActivationEnd =
  | { outcome: 'idle' | 'suspended' | 'ended' | 'cancelled' }
  /** The model could not answer, retries included; the journal says why. */
  | { outcome: 'failed'; error: ErrorData }
  | { outcome: 'limit'; limit: string; value: number }
  /** Our bug, or a worker that can't go on: the supervisor decides. */
  | { outcome: 'crashed'; error: ErrorData }

/** Every call of a worker names its session and epoch; an old epoch is refused with the code `fenced`. */
export type Fence = { session: SessionId; epoch: number }

/** The content that a file has now, by an absolute path. */
export type FoundFile = { path: string; hash: string }

export type AppendRequest = Fence & {
  /** Highest seq that the worker has folded. */
  lastSeq: number
  records: RecordBody[]
  /** Resolve only when the records are on the disk (`fdatasync`). */
  sync?: boolean
  /** Answer with the job board's text as well. */
  board?: boolean
  /** Answer only when a slot of this model server is held. */
  slot?: ModelSlot
  /** Gives back the slot of this model server. */
  release?: string
  /** Files in the session's context that are not as it knows them. */
  found?: FoundFile[]
  /** Characters of sub-agents' results that the turn which this opens may place; missing: any number. */
  resultRoom?: number
  /** Characters of results that any of the session's turns may place. */
  turnRoom?: number
}

/**
 * `records` has everything after `lastSeq`, in order, but for what this very request appended as it stands: that got the
 * seqs from `own.from` on. A `turn.started` takes every message that waits and fits, so it may come back with more than it had.
 * `exhausted`: a bound of the whole run.
 */
export type Appended = {
  records: JournalRecord[]
  own?: { from: number; at: number }
  board?: string
  exhausted?: LimitReached
}

/** `waiting`: every unanswered call waits for something outside, named in `waitingFor`. `idle`: nothing to do; `text` is the last answer. */
export type SuspendRequest = Fence & { lastSeq: number; why: 'idle' | 'waiting'; waitingFor: string[]; text: string }

/** `records` holds newer records that the worker has not seen: fold them and go on. */
export type SuspendReply = { accepted: true } | { accepted: false; records: JournalRecord[] }

/** A file that a parent hands to a child: its first lines, of `of`. `origin`: how it came to be known, for the child. */
export type HandedFile = { path: string; name: string; origin: string; hash: string; lines: string[]; of: number }

export type LaunchRequest = Fence & {
  lastSeq: number
  call: CallId
  agent: string
  prompt: string
  description?: string
  background: boolean
  job?: string
  context?: HandedFile[]
  /** Globs that the child claims. */
  claims?: string[]
  /** Missing: as the agent says. */
  isolation?: 'worktree'
  timeoutMs?: number
  maxTurns?: number
}

/** `refused` is a text for the model: unknown agent, limit reached, and what is possible instead. `notes`: what it should know of how the child was sent. */
export type LaunchReply = Appended & { refused?: string; alias?: string; notes?: string[] }

export type ProcessRequest = Fence & {
  call: CallId
  command: string
  /** Absolute. */
  cwd: string
  timeoutMs: number
  /** Environment of the process, complete. */
  env: Record<string, string>
  /** Bytes kept of the head and of the tail each. */
  keepBytes: number
  /** File that takes the whole output once it is longer than what is kept. */
  spillPath: string
  /** stderr apart from stdout, at the price of their order. */
  splitStderr?: boolean
  leave?: SandboxLeave | undefined
}

/** What an approved command may do beyond the sandbox in which it runs. */
export type SandboxLeave = {
  network?: boolean
  /** Writing the repository's own data, but for its hooks and configuration. */
  git?: boolean
  /** Absolute paths outside the worktree that it may write. */
  paths?: string[]
}

/** What is kept of an output: `droppedBytes` between `head` and `tail` are in the spilled file. */
export type ProcessOutput = {
  head: string
  tail: string
  totalBytes: number
  droppedBytes: number
  /** There when bytes were dropped and could be stored; `bytes` is less than `totalBytes` where the file was capped. */
  spilled?: { path: string; bytes: number }
}

/** Its output is stdout and stderr in the order in which they were written, but where `stderr` was split off. */
export type ProcessOutcome = ProcessOutput & {
  stderr?: ProcessOutput
  exitCode: number | null
  signal: string | null
  ended: 'exited' | 'timed-out' | 'cancelled' | 'failed'
  /** Processes left running by the command, ended by us. */
  leftRunning: number
  error?: string
  durationMs: number
}

/** A child's conversation as text, for `read_sub_agent`. */
export type TranscriptReply = { text: string } | { refused: string }

/** How a worker's request about its children was answered: at once with a text, or later by the supervisor. */
export type ControlReply = Appended & { answer?: { text: string; isError: boolean } }

/** What a worker may ask of the supervisor; called over comlink. */
export interface SupervisorApi {
  append(request: AppendRequest): Promise<Appended>
  suspend(request: SuspendRequest): Promise<SuspendReply>
  launch(request: LaunchRequest): Promise<LaunchReply>
  /** Says something to a child: at its next boundary, or at once. */
  sendToChild(
    request: Fence & { alias: string; text: string; interrupt: boolean },
  ): Promise<{ text: string; isError: boolean }>
  /** Waits until a named job (none: any) ends, the user writes, or the time is over; the supervisor answers the call. */
  waitForJobs(
    request: Fence & { lastSeq: number; call: CallId; jobs: string[]; timeoutMs: number },
  ): Promise<ControlReply>
  /** Stops a child and all under it; the supervisor answers the call with what each had. */
  cancelChild(request: Fence & { lastSeq: number; call: CallId; alias: string }): Promise<ControlReply>
  transcript(request: Fence & { alias: string }): Promise<TranscriptReply>
  /** Absolute paths of the files that a child has in its context, the newest first. */
  filesOfChild(request: Fence & { alias: string }): Promise<{ paths: string[] } | { refused: string }>
  /** What other jobs' claims, or the session's own, say against a write to an absolute path. */
  claimAgainst(request: Fence & { path: string }): Promise<string | undefined>
  /** Resolves when the lock on the absolute path is held. */
  lock(request: Fence & { path: string }): Promise<void>
  unlock(request: Fence & { path: string }): Promise<void>
  /** Runs a command outside the worker; a second call for the same session and call attaches to the first. */
  runProcess(request: ProcessRequest): Promise<ProcessOutcome>
  killProcess(request: Fence & { call: CallId }): Promise<void>
}

/** What the supervisor may ask of a worker; called over comlink. */
export interface WorkerApi {
  /** Resolves when the activation is over; rejects never. `ticket` names it in the worker's pulse. */
  activate(task: ActivationTask, ticket?: number): Promise<ActivationEnd>
  /** There are records that the activation has not seen. */
  poke(fence: Fence): void
  /** Aborts the activation's signal: running calls are answered, then it ends as `cancelled`. */
  cancel(fence: Fence): void
}

/** Live events of a worker, in batches over a raw port; the supervisor acknowledges each batch by its number. */
export type LiveBatch = { batch: number; events: { session: SessionId; epoch: number; event: EventBody }[] }
