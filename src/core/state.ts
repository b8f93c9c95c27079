import type { AskId, CallId, JobId } from './ids.ts'
import type { Usage } from './model.ts'
import type { AskAnswer, AskKind, Rule } from './permission.ts'
import type {
  CallResult,
  EndState,
  JobResult,
  LimitReached,
  Message,
  RecordedCall,
  SessionSeed,
  Todo,
} from './records.ts'

/** One entry of the conversation, in the order in which the model sees it. `seq` is of the record that placed it. */
export type HistoryItem =
  | { kind: 'user'; seq: number; text: string }
  | { kind: 'assistant'; seq: number; turn: number; text: string; thinking?: string; calls: RecordedCall[] }
  | { kind: 'result'; seq: number; call: CallId; tool: string; result: CallResult }
  | {
      kind: 'sub-agent-result'
      seq: number
      job: JobId
      alias: string
      agent: string
      generation: number
      result: JobResult
    }
  | { kind: 'summary'; seq: number; text: string }

/** An ask of a call; `answer` once it is decided. `basis` is the hash of what was shown (of the file to be edited). */
export type OpenAsk = {
  id: AskId
  kind: AskKind
  title: string
  detail: string
  key: string
  pattern: string
  grant?: Rule
  basis?: string
  /** Of the arguments that were shown. */
  argsHash?: string
  answer?: AskAnswer
  /** Who decided. */
  by?: 'person' | 'policy' | 'grant' | 'withdrawn'
}

/** A call of the last assistant message, until its result is placed in history. */
export type OpenCall = RecordedCall & {
  started: boolean
  ask?: OpenAsk
  /** A `task_wait` that the supervisor will answer. */
  wait?: { jobs: string[]; until: number }
  /** The foreground job that will answer it. */
  job?: { job: JobId; generation: number }
  result?: CallResult
}

/** A job of this session, as its journal knows it. */
export type ChildJob = {
  job: JobId
  alias: string
  agent: string
  generation: number
  call: CallId
  background: boolean
  delivered: boolean
  state?: EndState
}

export type MailboxMessage = { seq: number; message: Message }

/** The state of a session: `fold(journal)`, always. Plain data. */
export type SessionState = {
  seed?: SessionSeed
  lastSeq: number
  /** Last turn that was started, 0 before the first. */
  turn: number
  /** `requesting`: a turn was started and the assistant message is not there yet. */
  phase: 'idle' | 'requesting' | 'calls' | 'ended'
  /** The generation being worked on; rises when a finished child is continued. */
  generation: number
  epoch: number
  history: HistoryItem[]
  mailbox: MailboxMessage[]
  /** Calls of the last assistant message, in call order, results not yet placed. */
  calls: OpenCall[]
  /** In the order of their launch, one per alias. */
  jobs: ChildJob[]
  /** `job#generation` of every result placed or waiting in the mailbox. */
  received: string[]
  /** Absolute path to the hash that this session knows of the file. */
  files: Record<string, string>
  todos: Todo[]
  /** "Always" answers of the tree; in a root only. */
  grants: Rule[]
  usage: Usage
  /** Counts at the beginning of the present work: bounds are counted from here. */
  base: { turn: number; tokens: number }
  /** Tokens that the server counted for the history as it was after this many items; corrects estimates. */
  measured?: { tokens: number; items: number }
  /** Set in the last turn that a limit grants: the session ends with it. */
  final?: LimitReached
  /** Signature of the loop of which the model has been told. */
  warned?: string
  /** Text of a reply that was cut off. */
  partial?: string
  /** Why the last turn failed, until another starts. */
  failure?: { code: string; message: string }
  ended?: { generation: number; result: JobResult; state: EndState }
}
