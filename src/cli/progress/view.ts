import type { JobState, PermissionAsk, RunStatus, RuntimeEvent } from '../../core/events.ts'
import { truncate } from '../terminal/display-width.ts'
import { oneLine } from '../terminal/sanitize.ts'

/** One session of the run, as its line shows it. */
export type Row = {
  session: string
  /** `exp-1`, or `gen-1/exp-1` for a child's child; of the root, its agent. */
  label: string
  agent: string
  depth: number
  state: JobState | 'idle'
  /** What it does right now, one safe line; empty when there is nothing to say. */
  doing: string
  turns: number
  /** Input and output of all turns. */
  tokens: number
  delivered: boolean
  /** Texts of the tool calls under way, by call. */
  tools: Map<string, string>
}

/** What progress shows: the root first, then jobs in the order of their launch. Keyed by session. */
export type View = { rows: Map<string, Row>; asks: Map<string, { session: string; title: string }> }

export function createView(): View {
  return { rows: new Map(), asks: new Map() }
}

/** Brings the view up to date, in place: a run has more events than a copy each would be worth. No I/O, no clock. */
export function applyEvent(view: View, event: RuntimeEvent): void {
  const row = rowOf(view, event)
  switch (event.type) {
    case 'session.created':
      row.agent = event.agent
      row.depth = event.depth
      if (event.depth === 0) row.label = event.agent
      return
    case 'job.launched':
    case 'job.updated':
    case 'job.finished':
      return applyJob(view, event)
    case 'result.delivered':
      jobRow(view, event.job, event.alias).delivered = true
      return
    case 'permission.requested':
      view.asks.set(event.id, { session: event.sessionId, title: askText(event) })
      return
    case 'permission.resolved':
      view.asks.delete(event.id)
      return
    case 'session.suspended':
      row.state = 'waiting'
      row.doing = `waits for ${waitingText(view, event.waitingFor)}`
      row.tools.clear()
      return
    default:
      applyToRow(row, event)
  }
}

/** What is written beside the row: an open question first, then its calls, then what it does. */
export function doingNow(view: View, row: Row): string {
  for (const ask of view.asks.values()) if (ask.session === row.session) return `asks: ${ask.title}`
  const [first] = row.tools.values()
  if (first === undefined) return row.doing
  return row.tools.size > 1 ? `${first} (+${row.tools.size - 1})` : first
}

/** What is asked for, as one line: a command is what it is, not what the model calls it. */
export function askText({ kind, title, detail }: Pick<PermissionAsk, 'kind' | 'title' | 'detail'>): string {
  return truncate(oneLine(kind === 'shell' ? detail : title), 120)
}

/** The call as people read it: `read src/a.ts`. */
export function callText(tool: string, title: string): string {
  const name = oneLine(tool)
  const text = oneLine(title)
  return text === '' || text === name || text.startsWith(`${name} `) ? text || name : `${name} ${text}`
}

const endStates: Record<RunStatus, JobState> = {
  done: 'completed',
  failed: 'failed',
  limit: 'limit',
  interrupted: 'cancelled',
}

type JobEvent = Extract<RuntimeEvent, { type: 'job.launched' | 'job.updated' | 'job.finished' }>

function applyJob(view: View, event: JobEvent): void {
  const row = jobRow(view, event.job, event.alias)
  row.agent = event.agent
  if (event.type === 'job.launched') {
    row.state = 'queued'
    row.delivered = false
    row.doing = oneLine(event.description)
    return
  }
  row.state = event.state
  if (event.type !== 'job.finished') return
  row.doing = ''
  row.tools.clear()
}

function applyToRow(row: Row, event: RuntimeEvent): void {
  switch (event.type) {
    case 'session.activated':
      row.state = 'running'
      return
    case 'session.idle':
      if (!isOver(row)) row.state = 'idle'
      row.doing = ''
      row.tools.clear()
      return
    case 'session.ended':
      row.state = event.state
      row.doing = ''
      row.tools.clear()
      return
    case 'run.finished':
      row.state = endStates[event.status]
      return
    case 'session.restarted':
      row.doing = `started again: ${oneLine(event.reason)}`
      row.tools.clear()
      return
    default:
      applyTurn(row, event)
  }
}

function applyTurn(row: Row, event: RuntimeEvent): void {
  switch (event.type) {
    case 'turn.started':
      row.state = 'running'
      row.turns = event.turn
      row.doing = 'thinks'
      return
    case 'text.delta':
      row.doing = 'writes'
      return
    case 'thinking.delta':
      row.doing = 'thinks'
      return
    case 'turn.ended':
      row.tokens += event.usage.inputTokens + event.usage.outputTokens
      row.doing = ''
      return
    case 'tool.started':
      row.tools.set(event.callId, callText(event.tool, event.title))
      return
    case 'tool.finished':
      row.tools.delete(event.callId)
      return
    case 'model.waiting':
      row.doing = event.ahead > 0 ? `waits for the model (${event.ahead} ahead)` : 'waits for the model'
      return
    case 'model.retried':
      row.doing = `asks the model again (try ${event.attempt}): ${oneLine(event.error.message)}`
      return
    default:
    // The rest changes no line.
  }
}

/** Ids of calls and asks mean nothing to a person. */
function waitingText(view: View, waitingFor: string[]): string {
  const texts = waitingFor.map((text) => {
    return text.startsWith('ask ') ? 'an answer' : (view.rows.get(text)?.label ?? oneLine(text))
  })
  return [...new Set(texts)].join(', ') || 'something outside'
}

function isOver(row: Row): boolean {
  return !['queued', 'running', 'waiting', 'idle'].includes(row.state)
}

/** The row of the session that an event is about, made when it is the first one. */
function rowOf(view: View, event: RuntimeEvent): Row {
  return view.rows.get(event.session) ?? addRow(view, event.session, event.session === event.root ? 0 : 1)
}

/** The row of a job, made when it is the first one. */
function jobRow(view: View, job: string, alias: string): Row {
  const row = view.rows.get(job) ?? addRow(view, job, 1)
  row.label = jobLabel(view, job, alias)
  return row
}

/** A child is named after its parent too, unless that is the root. The child's id is the parent's, `-` and its alias. */
export function jobLabel(view: View, job: string, alias: string): string {
  const parent = view.rows.get(job.slice(0, -alias.length - 1))
  const own = oneLine(alias)
  return parent !== undefined && parent.depth > 0 ? `${parent.label}/${own}` : own
}

function addRow(view: View, session: string, depth: number): Row {
  const row: Row = {
    session,
    label: session,
    agent: '',
    depth,
    state: 'queued',
    doing: '',
    turns: 0,
    tokens: 0,
    delivered: false,
    tools: new Map(),
  }
  view.rows.set(session, row)
  return row
}
