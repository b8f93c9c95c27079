/** Where a text was found: offsets into the content, the end excluded. */
export type Span = { start: number; end: number }

/**
 * Every place in order, overlapping ones too. Exact places only; when there is none, a line break of either kind in `wanted`
 * also finds the other kind.
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
  for (let at = content.indexOf(wanted); at >= 0; at = content.indexOf(wanted, at + 1)) {
    spans.push({ start: at, end: at + wanted.length })
  }
  return spans
}

/** Both texts without the CR of their line breaks; then the CRs that were left out count again. */
function anyLineBreakSpans(content: string, wanted: string): Span[] {
  const breaks = exactSpans(content, '\r\n').map(({ start }, dropped) => start - dropped)
  if (breaks.length === 0 && !wanted.includes('\r\n')) return []
  const spans = exactSpans(content.replaceAll('\r\n', '\n'), wanted.replaceAll('\r\n', '\n'))
  const original = (offset: number) => offset + countBelow(breaks, offset)
  return spans.map(({ start, end }) => ({ start: original(start), end: original(end) }))
}

/** How many of the sorted numbers are smaller. */
function countBelow(sorted: readonly number[], limit: number): number {
  let low = 0
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < limit) low = middle + 1
    else high = middle
  }
  return low
}
