import type { ErrorData } from './errors.ts'
import type { AskId, CallId, JobId, SessionId, WorkerId } from './ids.ts'
import type { Usage } from './model.ts'
import type { AskKind, GrantScope } from './permission.ts'
import type { EndState } from './records.ts'

/** What a job's row shows; `waiting` is suspended on a person or a child. */
export type JobState = 'queued' | 'running' | 'waiting' | EndState

export type RunStatus = 'done' | 'failed' | 'limit' | 'interrupted'

/** How one job of a run ended. */
export type RunJob = { alias: string; agent: string; generation: number; state: JobState; delivered: boolean }

export type PermissionAsk = {
  id: AskId
  sessionId: SessionId
  kind: AskKind
  title: string
  detail: string
  agent: string
  depth: number
  alias?: string
  /** Why it is asked. */
  reason?: string
  /** What of it was judged apart, as lines: each command of a list, each path outside the worktree. */
  units?: string[]
  /** The rule that an "always" stores, as `key:pattern`; missing: it can only be answered once. */
  always?: string
  /** For whom an "always" can be stored. */
  scopes?: GrantScope[]
}

/** What happens, as one union: the table of contents of the runtime. Plain data; times are wall-clock milliseconds. */
export type EventBody =
  | { type: 'session.created'; agent: string; depth: number; parent?: SessionId; model: string; dir: string }
  | { type: 'session.activated'; epoch: number; worker?: WorkerId }
  | { type: 'session.suspended'; waitingFor: string[] }
  | { type: 'session.idle' }
  | { type: 'session.ended'; state: EndState; error?: ErrorData }
  | { type: 'session.restarted'; epoch: number; reason: string; restarts: number }
  | { type: 'turn.started'; turn: number }
  | { type: 'turn.ended'; turn: number; usage: Usage; error?: ErrorData; interrupted?: boolean }
  | { type: 'text.delta'; turn: number; text: string }
  | { type: 'thinking.delta'; turn: number; text: string }
  | { type: 'message.added'; role: 'user' | 'assistant' | 'result'; text: string; job?: JobId; alias?: string }
  | { type: 'tool.started'; callId: CallId; tool: string; title: string }
  | {
      type: 'tool.finished'
      callId: CallId
      tool: string
      durationMs: number
      how: string
      title?: string
      metadata?: Record<string, unknown>
    }
  | ({ type: 'permission.requested' } & PermissionAsk)
  | {
      type: 'permission.resolved'
      id: AskId
      sessionId: SessionId
      decision: 'once' | 'always' | 'reject'
      by: 'person' | 'policy' | 'grant' | 'withdrawn'
    }
  | {
      type: 'job.launched'
      job: JobId
      alias: string
      agent: string
      generation: number
      background: boolean
      description: string
    }
  | { type: 'job.updated'; job: JobId; alias: string; agent: string; generation: number; state: JobState }
  | {
      type: 'job.finished'
      job: JobId
      alias: string
      agent: string
      generation: number
      state: EndState
      text: string
      usage: Usage
    }
  | { type: 'result.delivered'; job: JobId; alias: string; generation: number; via: 'call' | 'pair' }
  | { type: 'context.stale'; path: string; by: SessionId }
  | { type: 'todo.updated'; todos: { content: string; status: string }[] }
  | { type: 'model.waiting'; ahead: number }
  | { type: 'model.retried'; attempt: number; delayMs: number; error: ErrorData }
  | { type: 'model.truncated'; message: string }
  | { type: 'worker.died'; worker: WorkerId; error: ErrorData; sessions: SessionId[] }
  | { type: 'limit.reached'; limit: string; value: number }
  | { type: 'journal.damaged'; path: string; message: string }
  | {
      type: 'run.finished'
      status: RunStatus
      denied: number
      text: string
      usage: Usage
      error?: ErrorData
      jobs: RunJob[]
    }

/** `seq` rises per process. `session` is what the event is about, `root` the session that talks to the user. */
export type RuntimeEvent = { seq: number; at: number; root: SessionId; session: SessionId } & EventBody
