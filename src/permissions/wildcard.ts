/**
 * A wildcard as a test. `*` is any run of characters, newlines and slashes included, `?` any single one (a UTF-16 unit);
 * everything else is literal. A pattern that ends in ` *` also matches without that end: `git *` matches `git`, never
 * `gitx`. Time grows linearly with the text.
 */
export function compileWildcard(pattern: string): (text: string) => boolean {
  const whole = compileParts(pattern)
  if (!pattern.endsWith(' *')) return whole
  const bare = compileParts(pattern.slice(0, -2))
  return (text) => whole(text) || bare(text)
}

/** One test of a wildcard; compile those that are used often. */
export function matches(pattern: string, text: string): boolean {
  return compileWildcard(pattern)(text)
}

/** True when the pattern matches more than its own text. */
export function isWild(pattern: string): boolean {
  return pattern.includes('*') || pattern.includes('?')
}

function compileParts(pattern: string): (text: string) => boolean {
  if (!isWild(pattern)) return (text) => text === pattern
  const parts = pattern.split(/\*+/)
  if (parts.length === 1) return (text) => text.length === pattern.length && fits(pattern, text, 0)
  const first = parts[0]!
  const last = parts[parts.length - 1]!
  const middle = parts.slice(1, -1)
  return (text) => matchParts(text, first, middle, last)
}

// The leftmost place for each part is always good enough: a star in between takes up whatever is left. So no step back.
function matchParts(text: string, first: string, middle: string[], last: string): boolean {
  const end = text.length - last.length
  if (end < first.length || !fits(first, text, 0) || !fits(last, text, end)) return false
  let from = first.length
  for (const part of middle) {
    const at = find(part, text, from)
    if (at === -1 || at + part.length > end) return false
    from = at + part.length
  }
  return true
}

function find(part: string, text: string, from: number): number {
  if (!part.includes('?')) return text.indexOf(part, from)
  for (let at = from; at + part.length <= text.length; at++) if (fits(part, text, at)) return at
  return -1
}

function fits(part: string, text: string, at: number): boolean {
  if (!part.includes('?')) return text.startsWith(part, at)
  for (let n = 0; n < part.length; n++) if (part[n] !== '?' && part[n] !== text[at + n]) return false
  return true
}
