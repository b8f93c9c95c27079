/** The first `length` UTF-16 units, one fewer where that would split a surrogate pair. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) return text
  return text.slice(0, isLowSurrogate(text, length) ? length - 1 : length)
}

/** The last `length` UTF-16 units, one fewer where that would split a surrogate pair. */
export function tailOf(text: string, length: number): string {
  if (text.length <= length) return text
  const start = text.length - length
  return text.slice(isLowSurrogate(text, start) ? start + 1 : start)
}

/** A line no longer than `length`, with a marker that tells how much was left out. */
export function clampLine(line: string, length: number): string {
  if (line.length <= length) return line
  const head = headOf(line, length)
  return `${head}... [line cut: ${line.length - head.length} more characters]`
}

/** At most `length` characters of a line around `[start, end)`, with `...` where it was cut. */
export function cutAround(line: string, start: number, end: number, length: number): string {
  if (line.length <= length) return line
  const lead = Math.max(0, Math.floor((length - (end - start)) / 2))
  let from = Math.max(0, Math.min(start - lead, line.length - length))
  if (isLowSurrogate(line, from)) from += 1
  const part = headOf(line.slice(from), length)
  return `${from > 0 ? '...' : ''}${part}${from + part.length < line.length ? '...' : ''}`
}

/** A path on one line: one that could be taken for two, or that would move a cursor, as a JSON string. */
export function oneLinePath(path: string): string {
  return /[\x00-\x1f\x7f]/.test(path) ? JSON.stringify(path) : path
}

/** `1 match`, `2 matches`. */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return at > 0 && at < text.length && unit >= 0xdc00 && unit <= 0xdfff
}
