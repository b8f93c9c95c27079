import type { Span } from '../find-spans.ts'
import type { TextLines, WantedLines } from '../text-lines.ts'

/** Whole lines that are equal but for the blanks around each. */
export function lineTrimmed(lines: TextLines, wanted: WantedLines): Span[] {
  const height = wanted.trimmed.length
  return sequenceStarts(lines.trimmed, wanted.trimmed).map((first) => ({
    start: lines.start(first),
    end: lines.end(first + height - 1),
  }))
}

/** Every index at which `sequence` begins within `items`, overlaps included. Linear (Knuth, Morris, Pratt). */
function sequenceStarts(items: readonly string[], sequence: readonly string[]): number[] {
  const fallback = fallbacksOf(sequence)
  const starts: number[] = []
  let matched = 0
  for (let i = 0; i < items.length; i++) {
    while (matched > 0 && items[i] !== sequence[matched]) matched = fallback[matched - 1]!
    if (items[i] === sequence[matched]) matched++
    if (matched === sequence.length) {
      starts.push(i - matched + 1)
      matched = fallback[matched - 1]!
    }
  }
  return starts
}

/** For each position: how much of the sequence's beginning ends there. */
function fallbacksOf(sequence: readonly string[]): number[] {
  const fallback = [0]
  for (let i = 1, length = 0; i < sequence.length; i++) {
    while (length > 0 && sequence[i] !== sequence[length]) length = fallback[length - 1]!
    if (sequence[i] === sequence[length]) length++
    fallback.push(length)
  }
  return fallback
}
