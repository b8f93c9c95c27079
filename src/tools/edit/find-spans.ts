/** Where a text was found: offsets into the content, the end excluded. */
export type Span = { start: number; end: number }

/**
 * Every place, without overlaps, in order. Exact places only; when there is none, a line break of either kind in `wanted`
 * also finds the other kind. Both texts must have one encoding.
 */
export function findSpans(content: string, wanted: string): Span[] {
  const exact = exactSpans(content, wanted)
  return exact.length === 0 && wanted.includes('\n') ? anyLineBreakSpans(content, wanted) : exact
}

/** Line on which an offset lies, from 1. */
export function lineAt(content: string, offset: number): number {
  let line = 1
  for (let at = content.indexOf('\n'); at >= 0 && at < offset; at = content.indexOf('\n', at + 1)) line++
  return line
}

function exactSpans(content: string, wanted: string): Span[] {
  const spans: Span[] = []
  for (let at = content.indexOf(wanted); at >= 0; at = content.indexOf(wanted, at + wanted.length)) {
    spans.push({ start: at, end: at + wanted.length })
  }
  return spans
}

function anyLineBreakSpans(content: string, wanted: string): Span[] {
  const literal = (line: string) => line.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
  const pattern = new RegExp(wanted.split(/\r?\n/).map(literal).join('\\r?\\n'), 'g')
  return Array.from(content.matchAll(pattern), (match) => ({ start: match.index, end: match.index + match[0].length }))
}
