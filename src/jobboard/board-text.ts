import { sep } from 'node:path'
import { maxBoardChars } from '../core/context-room.ts'
import type { SessionId } from '../core/ids.ts'
import { type BoardState, type JobRow, rowsUnder } from './board-state.ts'
import { countLines } from './line-ranges.ts'
import { toArray } from './list.ts'

/** The text, and the files of which it tells that they have changed. */
export type BoardText = { text: string; told: string[] }

const maxNoticeChars = 2000
const maxLine = 240
const minLine = 60
const maxName = 60
const minPurpose = 20
const maxHolds = 80
const moreChars = 13
const shownFiles = 8

/**
 * What one session's model is told: files that changed since it knew them, then its jobs: at work, finished and not yet
 * in its history, done and to be continued. Empty when there is nothing to say. No clock times; at most 1,500 tokens.
 */
export function boardText(state: BoardState, session: SessionId, dir: string, maxChars = maxBoardChars): BoardText {
  const { lines: notices, told } = noticeLines(state, session, dir, Math.min(maxNoticeChars, maxChars / 2))
  const jobs = jobLines(state, session, dir, maxChars - notices.join('\n').length)
  const lines = [...notices, ...jobs]
  return { text: lines.length === 0 ? '' : `<job-board>\n${lines.join('\n')}\n</job-board>`, told }
}

function noticeLines(
  state: BoardState,
  session: SessionId,
  dir: string,
  room: number,
): { lines: string[]; told: string[] } {
  const entry = state.sessions.get(session)
  if (entry === undefined || entry.notices.size === 0) return { lines: [], told: [] }
  const lines = [
    'These files have changed since you last saw them. Read them again before you rely on them or edit them:',
  ]
  const told: string[] = []
  let left = room
  for (const path of [...entry.notices.keys()].sort()) {
    const line = `- ${shown(path, dir)}${author(state, path)}`
    // What does not fit is told with the next request; one always fits.
    if (line.length > left && told.length > 0) break
    left -= line.length
    lines.push(line)
    told.push(path)
  }
  return { lines, told }
}

function author(state: BoardState, path: string): string {
  const current = state.files.get(path)?.current
  // A change that was only found, by a read, may be anybody's.
  if (current === undefined || !current.wrote) return ''
  const alias = state.jobs.get(current.mark.session)?.row?.alias
  return alias === undefined ? ' (changed by another agent)' : ` (changed by ${plain(alias, maxName)})`
}

type Section = { title: string; lines: string[] }

function jobLines(state: BoardState, session: SessionId, dir: string, budget: number): string[] {
  const rows = rowsUnder(state, session)
  if (rows.length === 0) return []
  const width = Math.max(minLine, Math.min(maxLine, Math.floor(budget / rows.length) - 8))
  const active = rows.filter(isActive)
  const waiting = rows.filter((row) => !isActive(row) && !row.delivered)
  const reusable = rows.filter((row) => row.delivered && !isActive(row) && row.state !== 'cancelled')
  const sections: Section[] = [
    { title: 'Jobs at work:', lines: active.map((row) => activeLine(row)) },
    {
      title: 'Finished, their results come next:',
      lines: waiting.map((row) => `${named(row)} ${row.state}: ${purpose(row)}`),
    },
    {
      title: 'Finished, can be continued by their names:',
      lines: reusable.map((row) => reusableLine(state, row, dir, width)),
    },
  ]
  return fitSections(sections, width, budget)
}

function fitSections(sections: Section[], width: number, budget: number): string[] {
  const lines: string[] = []
  let left = budget - 150
  for (const { title, lines: rows } of sections) {
    if (rows.length === 0) continue
    lines.push(title)
    for (const [n, row] of rows.entries()) {
      const line = `- ${cut(row, width)}`
      left -= line.length + 1
      if (left < 0) {
        lines.push(`- and ${rows.length - n} more`)
        break
      }
      lines.push(line)
    }
  }
  return lines
}

function activeLine(row: JobRow): string {
  const where = row.background ? ', in the background' : ''
  const holds = row.holds ? `; it alone may write ${plain(row.holds.join(', '), maxHolds)}` : ''
  return `${named(row)} ${row.state}${where}: ${purpose(row, maxLine - holds.length)}${holds}`
}

function reusableLine(state: BoardState, row: JobRow, dir: string, width: number): string {
  const begin = `${named(row)}${row.state === 'completed' ? '' : ` ${row.state}`}: `
  const label = `; context read by ${plain(row.alias, maxName)}: `
  const files = filesRead(state, row, dir, width - begin.length - label.length - minPurpose)
  const context = files === '' ? '' : label + files
  const room = Math.max(minPurpose, width - begin.length - context.length)
  return `${begin}${purpose(row, room)}${context}`
}

/** As many of the newest as fit into `room`, one at least, and how many there are besides. */
function filesRead(state: BoardState, { job }: JobRow, dir: string, room: number): string {
  const session = job as string as SessionId
  const all = state.sessions.get(session)?.files
  const names: string[] = []
  let left = room - moreChars
  for (const path of toArray(all, shownFiles).reverse()) {
    const lines = state.files.get(path)?.readers.get(session)?.lines
    const name = shown(path, dir) + (lines === undefined ? '' : ` (${extent(countLines(lines), lines[0]!.of)})`)
    left -= name.length + 2
    if (left < 0 && names.length > 0) break
    names.unshift(name)
  }
  const more = (all?.length ?? 0) - names.length
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function extent(count: number, of: number): string {
  return count >= of ? `${of} lines` : `${count} of ${of} lines`
}

function named({ alias, agent }: JobRow): string {
  return `${plain(alias, maxName)} (${plain(agent, maxName)})`
}

function purpose({ description }: JobRow, max = maxLine): string {
  return plain(description, max)
}

function isActive({ state }: JobRow): boolean {
  return state === 'queued' || state === 'running' || state === 'waiting'
}

function shown(path: string, dir: string): string {
  return plain(path.startsWith(dir + sep) ? path.slice(dir.length + 1) : path, maxLine)
}

const printable = /^[\x20-\x7e]*$/
// Any white space but a single blank, control and format characters.
const unprintable = / {2,}|(?:[^\S ]|[\p{Cc}\p{Cf}])+/gu

/** Names and descriptions are data: on one line, and with no tag that could end the board or begin another text. */
function plain(text: string, max: number): string {
  const short = text.slice(0, max + 1)
  const line = printable.test(short) ? short : short.replace(unprintable, ' ')
  return cut(line.replaceAll('<', '‹').replaceAll('>', '›'), max).trim()
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
