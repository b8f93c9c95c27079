import type { StepBudget } from '../levenshtein.ts'
import { findSpans, type Span } from './find-spans.ts'
import { blockAnchor } from './strategies/block-anchor.ts'
import { contextAware } from './strategies/context-aware.ts'
import { escapeNormalized } from './strategies/escape-normalized.ts'
import { lineTrimmed } from './strategies/line-trimmed.ts'
import { trimmedBoundary } from './strategies/trimmed-boundary.ts'
import { whitespaceNormalized } from './strategies/whitespace-normalized.ts'
import { type TextLines, textLines, type WantedLines, wantedLines } from './text-lines.ts'

/**
 * How a text was found, in the order in which it is tried: the first that finds anything decides. Of the chain that
 * opencode made known, IndentationFlexible and MultiOccurrence have no place of their own: what they find, LineTrimmed
 * and Simple have found before.
 */
export type Strategy =
  | 'Simple'
  | 'LineTrimmed'
  | 'BlockAnchor'
  | 'WhitespaceNormalized'
  | 'EscapeNormalized'
  | 'TrimmedBoundary'
  | 'ContextAware'

/** Places of a text, in order; those of one that is found loosely may overlap. */
export type Match = { strategy: Strategy; spans: Span[] }

/** Comparisons of one search: about a tenth of a second. */
const maxSteps = 30_000_000

/** `undefined` when no strategy finds the text; with `exactOnly` there is one, Simple. */
export function findMatch(content: string, wanted: string, { exactOnly }: { exactOnly: boolean }): Match | undefined {
  const exact = findSpans(content, wanted)
  if (exact.length > 0) return { strategy: 'Simple', spans: exact }
  return exactOnly ? undefined : findLoosely(textLines(content), wantedLines(wanted))
}

type Finder = (lines: TextLines, wanted: WantedLines, budget: StepBudget) => Span[]

const finders: readonly [Strategy, Finder][] = [
  ['LineTrimmed', lineTrimmed],
  ['BlockAnchor', blockAnchor],
  ['WhitespaceNormalized', whitespaceNormalized],
  ['EscapeNormalized', ({ text }, wanted) => escapeNormalized(text, wanted)],
  ['TrimmedBoundary', ({ text }, wanted) => trimmedBoundary(text, wanted)],
  ['ContextAware', contextAware],
]

function findLoosely(lines: TextLines, wanted: WantedLines): Match | undefined {
  const budget = { left: maxSteps }
  for (const [strategy, find] of finders) {
    // An empty place is none: blanks were wanted, and there are none.
    const spans = find(lines, wanted, budget).filter(({ start, end }) => end > start)
    if (spans.length > 0) return { strategy, spans: distinct(spans) }
  }
  return undefined
}

function distinct(spans: Span[]): Span[] {
  const sorted = spans.sort((a, b) => a.start - b.start || a.end - b.end)
  return sorted.filter(({ start, end }, i) => i === 0 || start !== sorted[i - 1]!.start || end !== sorted[i - 1]!.end)
}
