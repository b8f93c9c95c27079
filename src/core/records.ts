import type { AgentDefinition, AgentLimits } from './agent.ts'
import type { ErrorData } from './errors.ts'
import type { AskId, CallId, JobId, SessionId } from './ids.ts'
import type { Usage } from './model.ts'
import type { AskAnswer, AskKind, JudgedUnit, Rule } from './permission.ts'

/** Journals of a higher version than this are refused, never guessed at. */
export const journalVersion = 1

/** How a job can end. */
export type EndState = 'completed' | 'failed' | 'cancelled' | 'timed_out' | 'limit'

export type Todo = {
  content: string
  status: 'pending' | 'in_progress' | 'completed' | 'cancelled'
  priority: 'high' | 'medium' | 'low'
}

/** A file that a call read or wrote. `path` is absolute and real; `hash` is of the whole file's bytes; lines count from 1, both ends included. */
export type FileTouch = {
  path: string
  kind: 'read' | 'write'
  hash: string
  lines?: { from: number; to: number; of: number }
  /** Of a write: what was there. */
  before?: FileBefore
}

/** A file before a write; without `hash` there was none. `kept`: the snapshot made of it, at the first write of a turn; `mode` has the permission bits. */
export type FileBefore = { hash?: string; kept?: string; mode?: number }

/** The result of a call as the model sees it, and what people and the board need besides. */
export type CallResult = {
  output: string
  isError: boolean
  /** How it came about; all but `ok` and `error` were made by the runtime. */
  how: 'ok' | 'error' | 'denied' | 'cancelled' | 'interrupted'
  title?: string
  /** A unified diff, counts, an exit code: for people. */
  metadata?: Record<string, unknown>
  touched?: FileTouch[]
  todos?: Todo[]
  /** The file that holds the whole output when it was shortened. */
  spilled?: string
  images?: ResultImage[]
}

/** An image that a model is shown with a result: `name` is its hash and that of the file that keeps it, `label` what the model calls it. */
export type ResultImage = { name: string; label: string; mediaType: string; bytes: number }

/** What a child hands to its parent. */
export type JobResult = { state: EndState; text: string; error?: ErrorData; usage: Usage; turns: number }

/** Files handed to a child with its prompt: their contents as one text that stands below it, and what of them it shows. */
export type HandedContext = { text: string; files: FileTouch[] }

/** What waits in a session's mailbox. `files`: what the text shows of files, which counts as read. */
export type Message =
  | { kind: 'user'; text: string; files?: FileTouch[] }
  | { kind: 'result'; job: JobId; alias: string; agent: string; generation: number; result: JobResult }

/** Everything that makes a session what it is; the first record of its journal. */
export type SessionSeed = {
  session: SessionId
  root: SessionId
  parent?: { session: SessionId; job: JobId; call: CallId; alias: string }
  depth: number
  agent: AgentDefinition
  /** `provider/name`, or `scripted:FILE`. */
  model: string
  /** Absolute path of the workspace. */
  dir: string
  limits: AgentLimits
  /** Its folder lies in a git worktree of its own. */
  worktree?: Worktree
}

/** Absolute paths: `dir` of the worktree's top, `repo` of the git folder that it shares. `base` is the commit from which its branch began. */
export type Worktree = { dir: string; repo: string; branch: string; base: string }

/** A call as recorded: `id` is ours, `args` as the model gave them, `invalid` the raw text when they were no JSON object. */
export type RecordedCall = { id: CallId; tool: string; args: Record<string, unknown>; invalid?: string }

/** A bound that was reached; tokens, turns or milliseconds. */
export type LimitReached = { limit: string; value: number }

/** What a journal holds, oldest first. The state of a session is `fold` of these, always. */
export type RecordBody =
  | { type: 'session.created'; version: number; seed: SessionSeed }
  | { type: 'message.received'; message: Message }
  /** Places the consumed messages (by seq) in history and opens a turn: the last one if `final`. `warned`: the loop of which the model is told. `epoch` is the activation that opened it. */
  | { type: 'turn.started'; turn: number; consumed: number[]; epoch: number; final?: LimitReached; warned?: string }
  /** The text so far of a reply that streams, about once a second; the assistant message outranks it. */
  | { type: 'turn.partial'; turn: number; text: string }
  | {
      type: 'assistant.message'
      turn: number
      text: string
      thinking?: string
      calls: RecordedCall[]
      usage: Usage
      warnings?: string[]
    }
  /** The model could not answer this turn, retries included. */
  | { type: 'turn.failed'; turn: number; error: ErrorData }
  /** Somebody stopped this turn: open calls are answered by the fold, partial text is kept. The session is idle after it. */
  | { type: 'turn.interrupted'; turn: number; reason: string }
  /** A side-effecting call is about to act; synced before it does. */
  | { type: 'call.started'; call: CallId }
  /** `job`: the result is a foreground child's, delivered with this record. */
  | {
      type: 'call.finished'
      call: CallId
      result: CallResult
      durationMs: number
      job?: { job: JobId; generation: number; state: EndState }
    }
  | {
      type: 'ask.requested'
      id: AskId
      call: CallId
      kind: AskKind
      title: string
      detail: string
      key: string
      pattern: string
      grant?: Rule
      basis?: string
      /** Why it is asked, for people. */
      reason?: string
      /** What of it was judged apart. */
      units?: JudgedUnit[]
      /** Of the arguments that are asked about: what was approved is what runs. */
      argsHash?: string
    }
  | {
      type: 'ask.resolved'
      id: AskId
      call: CallId
      answer: AskAnswer
      by: 'person' | 'policy' | 'grant' | 'withdrawn'
    }
  /** A rule that an "always" stored for the session tree; only in the root's journal. */
  | { type: 'grant.added'; rule: Rule }
  | {
      type: 'job.launched'
      job: JobId
      alias: string
      generation: number
      call: CallId
      background: boolean
      prompt: string
      description?: string
      context?: HandedContext
      /** Globs of the files that it alone may write while it is at work, relative to its folder. */
      claims?: string[]
      seed: SessionSeed
    }
  /** A `task_wait`: answered when one of these jobs (by alias; none named: any) ends, the user writes, or at `until` (wall clock, ms). */
  | { type: 'wait.started'; call: CallId; jobs: string[]; until: number }
  /** A foreground job goes on in the background: its call has been answered. */
  | { type: 'job.moved'; job: JobId; generation: number }
  /** This session's work of one generation is over. In a child: what the parent gets. A root has it only when it failed or hit a limit. */
  | { type: 'session.ended'; generation: number; result: JobResult }
  /** A child whose result was ready when its tree was cancelled; kept for people. */
  | { type: 'result.undeliverable'; job: JobId; generation: number; result: JobResult }
  | { type: 'history.compacted'; uptoSeq: number; summary: string }

/** A record as it stands in the journal. `seq` rises by one from 1; `at` is wall-clock milliseconds. */
export type JournalRecord = { seq: number; at: number } & RecordBody
