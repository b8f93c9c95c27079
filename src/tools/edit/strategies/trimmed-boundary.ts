import { findSpans, type Span } from '../find-spans.ts'
import type { WantedLines } from '../text-lines.ts'

/** The exact text without the blanks and empty lines around it. */
export function trimmedBoundary(text: string, { text: wanted }: WantedLines): Span[] {
  const trimmed = wanted.trim()
  return trimmed === '' || trimmed === wanted ? [] : findSpans(text, trimmed)
}
