import { findSpans, type Span } from '../find-spans.ts'
import type { WantedLines } from '../text-lines.ts'

/** The text once its escapes are undone: a model has escaped it twice. */
export function escapeNormalized(text: string, { text: wanted }: WantedLines): Span[] {
  const unescaped = withoutEscapes(wanted)
  return unescaped === wanted || unescaped === '' ? [] : findSpans(text, unescaped)
}

const meanings: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }
const escapes = /\\([ntr'"`\\$\n])/g

/** Undoes escapes of quotes, backslashes, dollars, line breaks and tabs; with `only`, those of these characters. */
export function withoutEscapes(text: string, only?: ReadonlySet<string>): string {
  return text.replace(escapes, (escaped, of: string) =>
    only === undefined || only.has(of) ? (meanings[of] ?? of) : escaped,
  )
}

/** Which characters stand escaped in a text. */
export function escapedIn(text: string): Set<string> {
  return new Set(Array.from(text.matchAll(escapes), ([, of]) => of!))
}
