import type { Span } from './find-spans.ts'

/** The content with every span replaced by `replacement`, taken literally; everything outside of them stays as it is. */
export function replaceSpans(content: string, spans: readonly Span[], replacement: string): string {
  const parts: string[] = []
  let at = 0
  for (const { start, end } of spans) {
    parts.push(content.slice(at, start), withLineBreaksOf(content, { start, end }, replacement))
    at = end
  }
  parts.push(content.slice(at))
  return parts.join('')
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
