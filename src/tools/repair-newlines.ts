const repairable = ['content', 'old_string', 'new_string', 'command', 'prompt', 'message']

/**
 * Small models escape line breaks twice. A text argument without a real line break but with a literal `\n` outside of
 * quotes gets line breaks and tabs; `print('a\nb')` is code and stays. `repaired` names the arguments.
 */
export function repairNewlines(args: Record<string, unknown>): { args: Record<string, unknown>; repaired: string[] } {
  const better = repairable.flatMap((name) => {
    const value = args[name]
    const text = typeof value === 'string' ? unescaped(value) : undefined
    return text === undefined ? [] : [[name, text] as const]
  })
  if (better.length === 0) return { args, repaired: [] }
  return { args: { ...args, ...Object.fromEntries(better) }, repaired: better.map(([name]) => name) }
}

function unescaped(text: string): string | undefined {
  if (text.includes('\n') || !text.includes('\\n')) return undefined
  const quoted = quotedSpans(text)
  let changed = false
  const result = text.replace(/\\(\\|r\\n|n|t)/g, (found, what: string, at: number) => {
    if (what === '\\' || quoted.some(([from, to]) => at > from && at < to)) return found
    if (what !== 't') changed = true
    return what === 't' ? '\t' : '\n'
  })
  return changed ? result : undefined
}

/** Positions of the quotes around each quoted string. A quote after a letter (`don't`) opens nothing. */
function quotedSpans(text: string): [number, number][] {
  const spans: [number, number][] = []
  for (let at = 0; at < text.length; at++) {
    const quote = text[at]!
    if (!'\'"`'.includes(quote) || /\w/.test(text[at - 1] ?? '') || escapedAt(text, at)) continue
    const end = closingQuote(text, at)
    if (end < 0) continue
    spans.push([at, end])
    at = end
  }
  return spans
}

/** -1 when the quote is never closed: then it was no quote. */
function closingQuote(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === text[open]) return at
  }
  return -1
}

function escapedAt(text: string, at: number): boolean {
  return text[at - 1] === '\\'
}
