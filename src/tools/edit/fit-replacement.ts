import type { Strategy } from './find-match.ts'
import type { Span } from './find-spans.ts'
import { reindent } from './reindent.ts'
import { escapedIn, withoutEscapes } from './strategies/escape-normalized.ts'

/** A loose match, and what was to stand in the place of the wanted text. */
export type FitRequest = {
  content: string
  span: Span
  strategy: Strategy
  wanted: string
  replacement: string
  /** How much of the file before the place shows its style of indentation. */
  sampleChars: number
}

/** What is written, and where. */
export type Fitted = { span: Span; text: string }

/**
 * Makes a replacement that was written for `wanted` fit what was found instead: blanks and empty lines around it, the last
 * line break and the indentation are the file's own.
 */
export function fitReplacement(request: FitRequest): Fitted {
  const { content, span, strategy, wanted, replacement, sampleChars } = unescaped(request)
  const actual = content.slice(span.start, span.end)
  const around = content.slice(Math.max(0, span.start - sampleChars), span.start).split('\n')
  if (strategy === 'TrimmedBoundary' || !isWholeLines(content, span)) {
    const [inner, kept] = withoutOuterBlanks(wanted, replacement)
    const [first = '', ...rest] = linesOf(kept)
    const following = { actual: linesOf(actual).slice(1), wanted: linesOf(inner).slice(1), replacement: rest, around }
    return { span, text: [first, ...reindent(following)].join('\n') }
  }
  if (replacement === '' && wanted.endsWith('\n')) return { span: withLineBreak(content, span), text: '' }
  const lines = withoutOuterLines({
    actual: linesOf(actual),
    wanted: linesOf(wanted),
    replacement: linesOf(replacement),
  })
  return { span, text: withFinalBreak(content, span, reindent({ ...lines, around }).join('\n')) }
}

/** Who escaped the old text once too often did so with the new one; what he did not escape there stays. */
function unescaped(request: FitRequest): FitRequest {
  if (request.strategy !== 'EscapeNormalized') return request
  const { wanted, replacement } = request
  return { ...request, wanted: withoutEscapes(wanted), replacement: withoutEscapes(replacement, escapedIn(wanted)) }
}

function linesOf(text: string): string[] {
  return text.split('\n').map((line) => line.replace(/\r$/, ''))
}

function isWholeLines(content: string, { start, end }: Span): boolean {
  return (start === 0 || content[start - 1] === '\n') && /^(\r?\n|$)/.test(content.slice(end, end + 2))
}

/** The blanks around the wanted text are still in the file, around the place. */
function withoutOuterBlanks(wanted: string, replacement: string): [wanted: string, replacement: string] {
  const lead = wanted.slice(0, wanted.length - wanted.trimStart().length)
  const trail = wanted.slice(wanted.trimEnd().length)
  const rest = replacement.startsWith(lead) ? replacement.slice(lead.length) : replacement.trimStart()
  return [wanted.trim(), rest.endsWith(trail) ? rest.slice(0, rest.length - trail.length) : rest.trimEnd()]
}

type Lines = { actual: readonly string[]; wanted: readonly string[]; replacement: readonly string[] }

/** The line break that ended the wanted text, and empty lines around it that are not part of the place, are not written. */
function withoutOuterLines({ actual, wanted, replacement }: Lines): Lines {
  const endsInBreak = wanted.length > 1 && wanted.at(-1) === ''
  const old = endsInBreak ? wanted.slice(0, -1) : wanted
  const now =
    endsInBreak && replacement.length > 1 && replacement.at(-1) === '' ? replacement.slice(0, -1) : replacement
  const isFilled = (line: string) => line.trim() !== ''
  const lead = (lines: readonly string[]) => (lines.some(isFilled) ? lines.findIndex(isFilled) : 0)
  const trail = (lines: readonly string[]) =>
    lines.some(isFilled) ? lines.length - 1 - lines.findLastIndex(isFilled) : 0
  const missing = (count: typeof lead) => Math.min(count(now), Math.max(0, count(old) - count(actual)))
  return { actual, wanted: old, replacement: now.slice(missing(lead), now.length - missing(trail)) }
}

function withLineBreak(content: string, { start, end }: Span): Span {
  const after = content.indexOf('\n', end)
  return { start, end: after < 0 ? end : after + 1 }
}

/** A place at the end of the file leaves it with a final line break, or without one, as it was. */
function withFinalBreak(content: string, span: Span, text: string): string {
  if (span.end < content.length || text === '') return text
  if (!content.endsWith('\n')) return text.replace(/\n$/, '')
  return text.endsWith('\n') ? text : `${text}\n`
}
