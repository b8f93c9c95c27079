import { clampLine, count } from './text.ts'

/** Lines of a text from line `from` (1 is the first). `total` counts all of them, or those seen so far when not `exact`. */
export type LineWindow = { from: number; lines: string[]; total: number; exact: boolean }

export type Page = {
  text: string
  /** Last line shown. */
  to: number
}

export type PageRequest = {
  window: LineWindow
  /** What the text is called, for the notice. */
  label: string
  /** The tool as the model calls it, for the notice. */
  tool: string
  /** Longest text, notice included. */
  maxChars: number
  /** Numbers before the lines, like `cat -n`. */
  numbered: boolean
}

export const defaultPageLines = 2000

const maxLineChars = 2000
const noticeChars = 300
const newline = 0x0a

/** The lines `offset` to `offset + limit - 1` of a text in UTF-8. A final line break ends the last line and begins none. */
export function windowOf(bytes: Buffer, offset: number, limit: number): LineWindow {
  const from = Math.max(1, offset)
  let total = 0
  let start = bytes.length
  let end = bytes.length
  for (let at = 0; at < bytes.length; total++) {
    if (total + 1 === from) start = at
    if (total + 1 === from + limit) end = at
    const next = bytes.indexOf(newline, at)
    at = next < 0 ? bytes.length : next + 1
  }
  return { from, lines: linesOf(bytes.toString('utf8', start, end)), total, exact: true }
}

/** One page: as many lines of the window as fit, and a notice that tells how to go on when there are more. */
export function pageOf({ window, label, tool, maxChars, numbered }: PageRequest): Page {
  const { from, lines, total, exact } = window
  const shown: string[] = []
  let room = maxChars - noticeChars - label.length
  for (const [i, line] of lines.entries()) {
    const clamped = clampLine(line, maxLineChars)
    const row = numbered ? `${String(from + i).padStart(6)}\t${clamped}` : clamped
    room -= row.length + 1
    if (room < 0 && shown.length > 0) break
    shown.push(row)
  }
  const to = from + shown.length - 1
  if (to < total || !exact) shown.push(notice({ from, to, total, exact, label, tool }))
  return { text: shown.join('\n'), to }
}

/** What to say when `offset` lies behind the last line: how long the text really is. */
export function pastEnd(label: string, total: number, offset: number, [one, many] = ['line', 'lines']): string {
  return `${label} has ${count(total, one!, many)}; offset ${offset} is past its end.`
}

type Notice = { from: number; to: number; total: number; exact: boolean; label: string; tool: string }

function notice({ from, to, total, exact, label, tool }: Notice): string {
  const of = exact ? total : `more than ${total}`
  return `[showing lines ${from}-${to} of ${of} in ${label}; call ${tool} again with offset=${to + 1} to continue]`
}

function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
}
