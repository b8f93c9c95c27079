import type { JobId, SessionId } from '../core/ids.ts'
import type { Usage } from '../core/model.ts'
import type { EndState, FileTouch } from '../core/records.ts'

/** What a job is. `description`: what it is for, or how its prompt begins. */
export type JobFacts = {
  job: JobId
  root: SessionId
  parent: SessionId
  alias: string
  agent: string
  generation: number
  background: boolean
  description: string
}

/** How a job ended, as the board shows it. */
export type JobEnd = { state: EndState; text: string; usage: Usage; turns: number; at: number }

/** Orders touches across sessions: wall clock, then seq of the record and place in it. */
export type Stamp = { at: number; seq: number; n: number }

/**
 * What changes the board. All but `job.changed`, `file.found`, `notices.taken` and the two `forgotten` come from journals. Changes of
 * one session count in their order; those of different sessions may come in any order and give the same board.
 */
export type BoardChange =
  | { type: 'session.created'; session: SessionId; root: SessionId }
  | (JobFacts & {
      type: 'job.launched'
      /** Globs of files that it alone may write while it is at work. */
      claims?: string[]
      at: number
      /** Of the record: orders launches of one parent within a millisecond. */
      seq: number
    })
  | { type: 'job.moved'; job: JobId; root: SessionId; generation: number }
  /** Live only: what a journal does not tell. */
  | { type: 'job.changed'; job: JobId; generation: number; state: 'queued' | 'running' | 'waiting'; doing?: string }
  /** A child's own journal says so. */
  | { type: 'job.finished'; job: JobId; root: SessionId; generation: number; end: JobEnd }
  /** The parent's journal has the result; it is not in its history yet. */
  | {
      type: 'result.received'
      job: JobId
      root: SessionId
      parent: SessionId
      generation: number
      seq: number
      end: JobEnd
    }
  /** A turn of a session began; of the messages it placed in history some may be results. */
  | { type: 'turn.started'; session: SessionId; root: SessionId; consumed: number[] }
  | { type: 'usage.added'; session: SessionId; root: SessionId; usage: Usage }
  /** The result stands in the parent's history. `state`: of a foreground child, told by the record itself. */
  | {
      type: 'job.delivered'
      job: JobId
      root: SessionId
      generation: number
      end?: { state: EndState; text: string; at: number }
    }
  | { type: 'result.undeliverable'; job: JobId; root: SessionId; generation: number; end: JobEnd }
  | { type: 'file.touched'; session: SessionId; root: SessionId; touch: FileTouch; stamp: Stamp }
  /** Live only: a session found that a file which it knows is another. It does not know the new content. */
  | { type: 'file.found'; session: SessionId; root: SessionId; path: string; hash: string; stamp: Stamp }
  /** The session was told that these files have changed. */
  | { type: 'notices.taken'; session: SessionId; paths: string[] }
  | { type: 'session.forgotten'; session: SessionId }
  | { type: 'root.forgotten'; root: SessionId }
