import { padTo, truncate } from '../terminal/display-width.ts'
import { duration, plural, shortCount } from '../terminal/numbers.ts'
import type { Style } from '../terminal/style.ts'
import { doingNow, type Row, type View } from './view.ts'

/** `columns` and `maxLines` are those of the terminal. */
export type LiveOptions = { columns: number; maxLines: number; style: Style; elapsedMs: number }

const labelColumns = 14
const agentColumns = 10
const effortColumns = 18

/** The lines of a run: one a session, those at work first to stay when there are too many, and a summary. Never wider than the terminal. */
export function liveLines(view: View, options: LiveOptions): string[] {
  const rows = [...view.rows.values()]
  const room = Math.max(1, options.maxLines - 2)
  const shown = rows.length <= room ? rows : mostInteresting(rows, room)
  const hidden = rows.length - shown.length
  return [
    ...shown.map((row) => rowLine(view, row, options)),
    ...(hidden > 0 ? [options.style.dim(truncate(`  … and ${hidden} more`, options.columns - 1))] : []),
    options.style.dim(truncate(`  ${summary(rows, options.elapsedMs)}`, options.columns - 1)),
  ]
}

/** `3 jobs: 1 running, 2 completed · 34k tokens · 12 s`. */
export function summary(rows: Row[], elapsedMs: number): string {
  const jobs = rows.filter((row) => row.depth > 0)
  const counts = new Map<string, number>()
  for (const job of jobs) counts.set(job.state, (counts.get(job.state) ?? 0) + 1)
  const states = [...counts].map(([state, count]) => `${count} ${state.replace('_', ' ')}`).join(', ')
  const tokens = rows.reduce((sum, row) => sum + row.tokens, 0)
  const parts = [`${shortCount(tokens)} tokens`, duration(elapsedMs)]
  return [...(jobs.length > 0 ? [`${plural(jobs.length, 'job')}: ${states}`] : []), ...parts].join(' · ')
}

function mostInteresting(rows: Row[], room: number): Row[] {
  const order = rows.map((row, at) => ({ row, at, rank: rank(row) }))
  const kept = order.sort((a, b) => a.rank - b.rank || a.at - b.at).slice(0, room)
  return kept.sort((a, b) => a.at - b.at).map(({ row }) => row)
}

function rank(row: Row): number {
  if (row.depth === 0) return 0
  if (row.state === 'running' || row.state === 'waiting') return 1
  return row.state === 'queued' || row.state === 'idle' ? 2 : 3
}

function rowLine(view: View, row: Row, { columns, style }: LiveOptions): string {
  const name = padTo(row.label, labelColumns)
  const agent = padTo(row.depth === 0 ? '' : row.agent, agentColumns)
  const effort = `${plural(row.turns, 'turn')} ${shortCount(row.tokens)}`.padStart(effortColumns)
  // One column is left free: a full line makes some terminals wrap at once.
  const room = columns - 1 - 2 - labelColumns - 1 - agentColumns - 1 - effortColumns
  const paintedMark = mark(row, style)
  if (room < 12) return `${paintedMark} ${truncate(`${row.label} ${doing(view, row)}`, Math.max(1, columns - 3))}`
  return `${paintedMark} ${style.bold(name)} ${style.cyan(agent)} ${padTo(doing(view, row), room)}${style.dim(effort)}`
}

function doing(view: View, row: Row): string {
  const now = doingNow(view, row)
  if (now !== '') return now
  if (row.state === 'completed') return row.delivered ? 'completed, delivered' : 'completed'
  return row.state.replace('_', ' ')
}

function mark(row: Row, style: Style): string {
  switch (row.state) {
    case 'running':
      return style.cyan('●')
    case 'waiting':
      return style.yellow('◌')
    case 'completed':
      return style.green('✓')
    case 'queued':
    case 'idle':
      return style.dim('·')
    default:
      return style.red('✗')
  }
}
