import { findMatch, type Strategy } from './find-match.ts'
import type { Span } from './find-spans.ts'
import { fitReplacement } from './fit-replacement.ts'
import { replaceEach, replaceSpans } from './replace-spans.ts'
import { wantedLines } from './text-lines.ts'

export type ReplaceRequest = {
  content: string
  wanted: string
  replacement: string
  all: boolean
  /** Nothing but the very text, line breaks of either kind, counts as found. */
  exactOnly: boolean
}

export type Replaced = { text: string; strategy: Strategy; spans: Span[] }

/** Why nothing was replaced. `span` is the place that a loose match would have taken. */
export type NotReplaced =
  | { problem: 'not-found' }
  | { problem: 'multiple'; strategy: Strategy; spans: Span[] }
  | { problem: 'disproportionate'; strategy: Strategy; span: Span }

/** How much of the file before a place shows its style of indentation, and that of all places together. */
const maxSampleChars = 20_000
const maxSampledChars = 4_000_000

/** Replaces a text at its one place, or at all of them, by the strategy that finds it first. Not for an empty text. */
export function replaceText(request: ReplaceRequest): Replaced | NotReplaced {
  const { content, wanted, replacement, all } = request
  const match = findMatch(content, wanted, request)
  if (match === undefined) return { problem: 'not-found' }
  const { strategy, spans } = match
  if (spans.length > 1 && !all) return { problem: 'multiple', strategy, spans }
  const chosen = withoutOverlaps(spans)
  if (strategy === 'Simple') return { text: replaceSpans(content, chosen, replacement), strategy, spans: chosen }
  const span = chosen.find((span) => isDisproportionate(content.slice(span.start, span.end), wanted))
  if (span) return { problem: 'disproportionate', strategy, span }
  const sampleChars = Math.min(maxSampleChars, Math.ceil(maxSampledChars / chosen.length))
  const fitted = chosen.map((span) => fitReplacement({ content, span, strategy, wanted, replacement, sampleChars }))
  return { text: replaceEach(content, fitted), strategy, spans: chosen }
}

/** A loose match must not take away more than its text had: no more lines, and not many more characters. */
function isDisproportionate(found: string, wanted: string): boolean {
  const { length } = wantedLines(wanted).lines
  if (found.split('\n').length > length) return true
  return length > 1 && found.length > Math.max(wanted.length + 500, 4 * wanted.length)
}

function withoutOverlaps(spans: readonly Span[]): Span[] {
  let end = -1
  return spans.filter((span) => {
    if (span.start < end) return false
    end = span.end
    return true
  })
}
