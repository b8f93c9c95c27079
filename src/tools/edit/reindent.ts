import { convertIndent, type IndentUnit, indentOf, indentUnit } from './indentation.ts'

export type ReindentRequest = {
  /** The lines that were found in the file. */
  actual: readonly string[]
  /** The lines that were looked for. */
  wanted: readonly string[]
  /** The lines to write in their place. */
  replacement: readonly string[]
  /** Lines of the file around, which show its style where `actual` does not. */
  around: readonly string[]
}

/** A wanted line's indentation, and that of the line of the file which it stands for. */
type Pair = { at: number; line: string; wanted: string; actual: string }

type Style = { pairs: readonly Pair[]; from: IndentUnit; to: IndentUnit }

/**
 * The replacement with the file's own indentation: a line that is unchanged keeps the one it has there, a new one is
 * indented as the lines that its author took for equals are.
 */
export function reindent({ actual, wanted, replacement, around }: ReindentRequest): string[] {
  const pairs = pairLines(wanted, actual)
  if (pairs.every((pair) => pair.wanted === pair.actual)) return [...replacement]
  const from = indentUnit([...wanted, ...replacement])
  const to = indentUnit(actual) ?? indentUnit(around)
  const style = { pairs, from: from ?? to ?? '  ', to: to ?? from ?? '  ' }
  let next = 0
  return replacement.map((line) => {
    if (line.trim() === '') return line.trim()
    const twin = pairs.find((pair) => pair.at >= next && pair.line === line.trimEnd())
    if (twin) next = twin.at + 1
    return (twin?.actual ?? indentFor(indentOf(line), next, style)) + line.slice(indentOf(line).length)
  })
}

/** By equal text, in order; where both have as many lines, the rest by position. Blank lines say nothing. */
function pairLines(wanted: readonly string[], actual: readonly string[]): Pair[] {
  const partners = new Map<number, number>()
  for (let i = 0, next = 0; i < wanted.length; i++) {
    const text = wordsOf(wanted[i]!)
    const found = text === '' ? -1 : actual.findIndex((line, at) => at >= next && wordsOf(line) === text)
    if (found < 0) continue
    partners.set(i, found)
    next = found + 1
  }
  return wanted.flatMap((line, at) => {
    const partner = actual[partners.get(at) ?? (wanted.length === actual.length ? at : -1)]
    if (partner === undefined || line.trim() === '' || partner.trim() === '') return []
    return [{ at, line: line.trimEnd(), wanted: indentOf(line), actual: indentOf(partner) }]
  })
}

function wordsOf(line: string): string {
  return line.trim().replace(/\s+/g, ' ')
}

function indentFor(indent: string, near: number, { pairs, from, to }: Style): string {
  const distance = ({ at }: Pair) => Math.abs(at - near)
  const nearest = (candidates: readonly Pair[]) =>
    candidates.reduce((best, pair) => (distance(pair) < distance(best) ? pair : best))
  const equals = pairs.filter(({ wanted }) => wanted === indent)
  if (equals.length > 0) return nearest(equals).actual
  const outer = pairs.filter(({ wanted }) => indent.startsWith(wanted))
  if (outer.length > 0) {
    const depth = Math.max(...outer.map(({ wanted }) => wanted.length))
    const base = nearest(outer.filter(({ wanted }) => wanted.length === depth))
    return base.actual + convertIndent(indent.slice(depth), from, to)
  }
  const inner = pairs.filter(({ wanted }) => wanted.startsWith(indent))
  if (inner.length === 0) return convertIndent(indent, from, to)
  const depth = Math.min(...inner.map(({ wanted }) => wanted.length))
  const base = nearest(inner.filter(({ wanted }) => wanted.length === depth))
  const less = convertIndent(base.wanted.slice(indent.length), from, to)
  return base.actual.slice(0, Math.max(0, base.actual.length - less.length))
}
