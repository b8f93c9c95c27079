import type { RuntimeEvent } from '../../core/events.ts'
import { duration, plural, shortCount } from '../terminal/numbers.ts'
import { oneLine } from '../terminal/sanitize.ts'
import { askText, callText, jobLabel, type Row, type View } from './view.ts'

/** Something a person should see whether or not lines are updated in place: trouble and decisions. */
export function noteLine(view: View, event: RuntimeEvent): string | undefined {
  const who = tag(view.rows.get(event.session))
  switch (event.type) {
    case 'permission.resolved':
      return denialLine(view, event)
    case 'model.retried':
      return `${who} ${oneLine(event.error.message)} Tries again in ${duration(event.delayMs)} (try ${event.attempt}).`
    case 'model.truncated':
      return `${who} ${oneLine(event.message)}`
    case 'worker.died':
      return `worker ${event.worker} died (${oneLine(event.error.message)}); ${plural(event.sessions.length, 'session')} to start again`
    case 'session.restarted':
      return `${who} started again (${oneLine(event.reason)})`
    case 'limit.reached':
      return `${who} reached the limit ${event.limit} of ${event.value}`
    case 'journal.damaged':
      return oneLine(event.message)
    case 'turn.ended':
      return event.error && `${who} turn ${event.turn} failed: ${oneLine(event.error.message)}`
    default:
      return undefined
  }
}

/** The tool that launches a job, by its name in each toolset. */
const launching = new Set(['task', 'spawn_sub_agent'])

/** One plain line for what happened, before the event is applied to the view; most events have none. */
export function plainLine(view: View, event: RuntimeEvent): string | undefined {
  switch (event.type) {
    case 'job.launched':
      return `${jobTag(view, event)} started${event.background ? ' in the background' : ''}${colon(event.description)}`
    case 'job.finished':
      return `${jobTag(view, event)} ${event.state.replace('_', ' ')}${effort(view.rows.get(event.job))}`
    case 'result.delivered':
      return `${tag(view.rows.get(event.job))} result delivered`
    case 'tool.started':
      // The job's own line tells more.
      if (launching.has(event.tool)) return undefined
      return `${tag(view.rows.get(event.session))} ${callText(event.tool, event.title)}`
    case 'permission.requested':
      return `${tag(view.rows.get(event.sessionId))} asks: ${askText(event)}`
    case 'tool.finished':
      return failureLine(view, event)
    case 'model.waiting':
      return waitingLine(view, event)
    default:
      return noteLine(view, event)
  }
}

/** `[exp-1 explorer]`; the root is its agent alone. */
export function tag(row: Row | undefined): string {
  if (row === undefined) return '[?]'
  return row.depth === 0 || row.agent === '' ? `[${row.label}]` : `[${row.label} ${row.agent}]`
}

type Of<Type extends RuntimeEvent['type']> = Extract<RuntimeEvent, { type: Type }>

/** At its launch a job has no row yet. */
function jobTag(view: View, { job, alias, agent }: Of<'job.launched'> | Of<'job.finished'>): string {
  return `[${jobLabel(view, job, alias)} ${oneLine(agent)}]`
}

function effort(row: Row | undefined): string {
  return row === undefined ? '' : ` (${plural(row.turns, 'turn')}, ${shortCount(row.tokens)} tokens)`
}

function failureLine(view: View, event: Of<'tool.finished'>): string | undefined {
  const row = view.rows.get(event.session)
  const text = row?.tools.get(event.callId) ?? callText(event.tool, event.title ?? '')
  if (event.how === 'ok' || event.how === 'denied') return undefined
  return `${tag(row)} ${text}: ${event.how === 'error' ? 'failed' : event.how}`
}

/** Once for a stretch of waiting, not for every step forward in the queue. */
function waitingLine(view: View, event: Of<'model.waiting'>): string | undefined {
  const row = view.rows.get(event.session)
  if (event.ahead === 0 || row?.doing.startsWith('waits for the model')) return undefined
  return `${tag(row)} waits for the model (${event.ahead} ahead)`
}

function denialLine(view: View, event: Of<'permission.resolved'>): string | undefined {
  const ask = view.asks.get(event.id)
  if (event.decision !== 'reject' || event.by !== 'policy') return undefined
  return `${tag(view.rows.get(event.sessionId))} denied, nobody was asked${colon(ask?.title ?? '')}`
}

function colon(text: string): string {
  const line = oneLine(text)
  return line === '' ? '' : `: ${line}`
}
