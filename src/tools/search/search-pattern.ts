import vm from 'node:vm'
import { messageOf, RuntimeError } from '../../core/errors.ts'
import { cutAround } from '../text.ts'
import { translatePattern } from './translate-pattern.ts'

/** A line with a match; `line` counts from 1, `text` is cut around the match when the line is long. */
export type LineMatch = { line: number; text: string }

/** A regular expression ready to search files. */
export type SearchPattern = {
  /** False when the bytes certainly hold no match: spares decoding them. */
  mayMatch(bytes: Buffer): boolean
  /** The first `limit` matching lines. */
  search(text: string, limit: number): LineMatch[]
}

/** Longest line shown. */
export const maxLineChars = 300

/** Throws `bad-pattern` for an invalid expression. Inline flags at its start, such as `(?i)`, are understood. */
export function parseSearchPattern(source: string): SearchPattern {
  const [, inline = '', body = source] = /^\(\?([ims]+)\)(.*)$/s.exec(source) ?? []
  const flags = `${inline.includes('i') ? 'i' : ''}${/\\p\{|\\u\{|[\ud800-\udbff]/.test(body) ? 'u' : ''}`
  // `m`, since a CR that stands alone ends a line for ripgrep's `^` and `$`.
  const perLine = compile(body, `${flags}m`)
  // A line that matches alone also matches within the whole text, but for what looks beyond the line's end.
  const whole = /\(\?<?!/.test(body) ? undefined : perLine
  const literal = flags === '' && !/[\\^$.*+?()[\]{}|]/.test(body) ? Buffer.from(body) : undefined
  return {
    mayMatch: (bytes) => literal === undefined || bytes.includes(literal),
    search: (text, limit) => (whole && !whole.test(text) ? [] : matchingLines(text, perLine, limit)),
  }
}

/** Runs synchronous work and stops it after `timeoutMs`, even within a regular expression that backtracks without end. */
export function runBounded<Result>(work: () => Result, timeoutMs: number): Result {
  watchdog ??= { context: vm.createContext({ work: undefined }), script: new vm.Script('work()') }
  watchdog.context.work = work
  try {
    return watchdog.script.runInContext(watchdog.context, { timeout: timeoutMs }) as Result
  } catch (error) {
    if (!isTimeout(error)) throw error
    throw new RuntimeError(
      'pattern-too-slow',
      'The search was stopped: matching the pattern took too long. Avoid nested repetitions such as (a+)+, or narrow path.',
    )
  } finally {
    watchdog.context.work = undefined
  }
}

let watchdog: { context: vm.Context; script: vm.Script } | undefined

function isTimeout(error: unknown): boolean {
  // The error may come from the other realm, where it is no instance of our Error.
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

function compile(source: string, flags: string): RegExp {
  try {
    return new RegExp(translatePattern(source), flags)
  } catch (error) {
    throw badPattern(messageOf(error).replace(/^Invalid regular expression: /, ''))
  }
}

/** The error for what is no regular expression. */
function badPattern(why: string): RuntimeError {
  const remedy = 'To search for the text itself, escape ( ) [ ] { } . * + ? with \\.'
  return new RuntimeError('bad-pattern', `Invalid regular expression: ${why}. ${remedy}`)
}

/** Throws `bad-pattern` for a pattern that no line can match: it spans a line break. */
export function assertOneLine(pattern: string): void {
  if (!/\n|(^|[^\\])(\\\\)*\\n/.test(pattern)) return
  throw new RuntimeError(
    'bad-pattern',
    'The search goes line by line: a pattern with a line break matches nothing. Search for a part of one line.',
  )
}

function matchingLines(text: string, pattern: RegExp, limit: number): LineMatch[] {
  const matches: LineMatch[] = []
  let line = 0
  for (let at = 0; at < text.length && matches.length < limit; ) {
    line++
    const next = text.indexOf('\n', at)
    const end = next < 0 ? text.length : next
    const content = text.slice(at, text[end - 1] === '\r' && end > at ? end - 1 : end)
    const match = pattern.exec(content)
    if (match) {
      matches.push({ line, text: cutAround(content, match.index, match.index + match[0].length, maxLineChars) })
    }
    at = end + 1
  }
  return matches
}
