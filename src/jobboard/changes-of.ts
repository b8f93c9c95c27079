import type { JobId, SessionId } from '../core/ids.ts'
import type { FileTouch, JobResult, JournalRecord, Message } from '../core/records.ts'
import type { BoardChange, JobEnd } from './board-change.ts'

type Ref = { root: SessionId; session: SessionId }

/** What a record of a session's journal changes on the board; replaying all journals rebuilds it. */
export function changesOf(record: JournalRecord, { root, session }: Ref): BoardChange[] {
  switch (record.type) {
    case 'session.created':
      return [{ type: 'session.created', session, root }]
    case 'message.received':
      return received(record.message, { root, session }, record)
    case 'turn.started':
      return [{ type: 'turn.started', session, root, consumed: record.consumed }]
    case 'assistant.message':
      return [{ type: 'usage.added', session, root, usage: record.usage }]
    case 'call.finished':
      return finishedCall(record, { root, session })
    case 'job.launched':
      return [launched(record, { root, session })]
    case 'job.moved':
      return [{ type: 'job.moved', job: record.job, root, generation: record.generation }]
    case 'session.ended': {
      const end = endOf(record.result, record.at)
      return [{ type: 'job.finished', job: session as string as JobId, root, generation: record.generation, end }]
    }
    case 'result.undeliverable': {
      const end = endOf(record.result, record.at)
      return [{ type: 'result.undeliverable', job: record.job, root, generation: record.generation, end }]
    }
    default:
      return []
  }
}

type Of<Type extends JournalRecord['type']> = Extract<JournalRecord, { type: Type }>

function received(message: Message, { root, session }: Ref, { seq, at }: JournalRecord): BoardChange[] {
  if (message.kind !== 'result') return touchedFiles(message.files, { root, session }, { seq, at })
  const { job, generation, result } = message
  return [{ type: 'result.received', job, root, parent: session, generation, seq, end: endOf(result, at) }]
}

function launched(record: Of<'job.launched'>, { root, session }: Ref): BoardChange {
  const { job, alias, generation, background, claims, seed, at, seq } = record
  const description = cut(record.description || record.prompt, maxDescription)
  return {
    type: 'job.launched',
    job,
    root,
    parent: session,
    alias,
    agent: seed.agent.name,
    generation,
    background,
    description,
    ...(claims && { claims }),
    at,
    seq,
  }
}

function finishedCall({ job, result, at, seq }: Of<'call.finished'>, { root, session }: Ref): BoardChange[] {
  const changes = touchedFiles(result.touched, { root, session }, { seq, at })
  if (job) {
    const end = { state: job.state, text: cut(result.output, maxText), at }
    changes.push({ type: 'job.delivered', job: job.job, root, generation: job.generation, end })
  }
  return changes
}

function touchedFiles(
  files: FileTouch[] | undefined,
  { root, session }: Ref,
  { seq, at }: { seq: number; at: number },
): BoardChange[] {
  return (files ?? []).map((touch, n) => ({ type: 'file.touched', session, root, touch, stamp: { at, seq, n } }))
}

const maxText = 1000
const maxDescription = 200

function endOf({ state, text, usage, turns }: JobResult, at: number): JobEnd {
  return { state, text: cut(text, maxText), usage, turns, at }
}

/** Never leaves half a character behind. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…`
}
