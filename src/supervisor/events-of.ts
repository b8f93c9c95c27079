import type { EventBody } from '../core/events.ts'
import type { JournalRecord, Message } from '../core/records.ts'
import type { SessionEntry } from './session-entry.ts'

/** What a record tells the outside. `taken` are the messages that a `turn.started` consumed. */
export function eventsOf(entry: SessionEntry, record: JournalRecord, taken: Message[]): EventBody[] {
  const { seed } = entry
  switch (record.type) {
    case 'session.created': {
      const parent = seed.parent?.session
      const { model, dir, depth } = seed
      return [{ type: 'session.created', agent: seed.agent.name, depth, ...(parent && { parent }), model, dir }]
    }
    case 'turn.started':
      return [{ type: 'turn.started', turn: record.turn }, ...taken.flatMap(messageEvents)]
    case 'assistant.message': {
      const ended: EventBody = { type: 'turn.ended', turn: record.turn, usage: record.usage }
      return record.text === '' ? [ended] : [{ type: 'message.added', role: 'assistant', text: record.text }, ended]
    }
    case 'turn.failed':
      return [{ type: 'turn.ended', turn: record.turn, usage: noUsage, error: record.error }]
    case 'turn.interrupted':
      return [{ type: 'turn.ended', turn: record.turn, usage: noUsage, interrupted: true }]
    case 'call.finished':
      return finishedEvents(entry, record)
    case 'ask.resolved': {
      const { id, answer, by } = record
      return [{ type: 'permission.resolved', id, sessionId: seed.session, decision: answer.decision, by }]
    }
    case 'job.launched': {
      const { job, alias, generation, background, description, prompt } = record
      const shown = description ?? prompt.slice(0, 60)
      return [
        { type: 'job.launched', job, alias, agent: record.seed.agent.name, generation, background, description: shown },
      ]
    }
    case 'session.ended':
      return endedEvents(entry, record)
    default:
      return []
  }
}

function endedEvents(
  { seed }: SessionEntry,
  { generation, result }: Extract<JournalRecord, { type: 'session.ended' }>,
): EventBody[] {
  const { state, error, text, usage } = result
  const ended: EventBody = { type: 'session.ended', state, ...(error && { error }) }
  if (!seed.parent) return [ended]
  const { job, alias } = seed.parent
  return [ended, { type: 'job.finished', job, alias, agent: seed.agent.name, generation, state, text, usage }]
}

const noUsage = { inputTokens: 0, outputTokens: 0 }

function messageEvents(message: Message): EventBody[] {
  if (message.kind === 'user') return [{ type: 'message.added', role: 'user', text: message.text }]
  const { job, alias, generation, result } = message
  return [
    { type: 'message.added', role: 'result', text: result.text, job, alias },
    { type: 'result.delivered', job, alias, generation, via: 'pair' },
  ]
}

function finishedEvents(
  entry: SessionEntry,
  { call, result, durationMs, job }: Extract<JournalRecord, { type: 'call.finished' }>,
): EventBody[] {
  const tool = entry.tools.get(call) ?? 'unknown'
  const { how, title, metadata, todos } = result
  const events: EventBody[] = [
    {
      type: 'tool.finished',
      callId: call,
      tool,
      durationMs,
      how,
      ...(title && { title }),
      ...(metadata && { metadata }),
    },
  ]
  if (todos) events.push({ type: 'todo.updated', todos: todos.map(({ content, status }) => ({ content, status })) })
  const child = job && entry.jobs.get(job.job)
  if (child) {
    const { job: id, alias, generation } = child
    events.push({ type: 'result.delivered', job: id, alias, generation, via: 'call' })
  }
  return events
}
