import type { Span } from './find-spans.ts'

/** The content with every span replaced by `replacement`, taken literally; everything outside of them stays as it is. */
export function replaceSpans(content: string, spans: readonly Span[], replacement: string): string {
  return replaceEach(
    content,
    spans.map((span) => ({ span, text: replacement })),
  )
}

/** The same with a text of its own for each span; these are in order and apart. */
export function replaceEach(content: string, places: readonly { span: Span; text: string }[]): string {
  const parts: string[] = []
  let at = 0
  for (const { span, text: replacement } of places) {
    const { start, end } = withWholeBreak(content, span, replacement)
    parts.push(content.slice(at, start), withLineBreaksOf(content, { start, end }, replacement))
    at = end
  }
  parts.push(content.slice(at))
  return parts.join('')
}

/** A place that begins with the LF of a CRLF takes the CR with it, for a replacement that knows of none. */
function withWholeBreak(content: string, { start, end }: Span, replacement: string): Span {
  const isWithin = start > 0 && content[start] === '\n' && content[start - 1] === '\r'
  return { start: isWithin && !replacement.includes('\r') ? start - 1 : start, end }
}

/** Line breaks as the file has them there, one by one where the span has some; a replacement with its own CRs knows what it wants. */
function withLineBreaksOf(content: string, span: Span, replacement: string): string {
  if (replacement.includes('\r') || !replacement.includes('\n')) return replacement
  const breaks = content.slice(span.start, span.end).match(/\r?\n/g) ?? [nearestLineBreak(content, span)]
  let n = 0
  return replacement.replace(/\n/g, () => breaks[Math.min(n++, breaks.length - 1)]!)
}

function nearestLineBreak(content: string, { start, end }: Span): string {
  const after = content.indexOf('\n', end)
  const at = after >= 0 ? after : content.lastIndexOf('\n', start)
  return at > 0 && content[at - 1] === '\r' ? '\r\n' : '\n'
}
