/** Without the blanks and newlines at both ends: only what a shell skips as well, which a carriage return is not. */
export function trimBlanks(source: string): string {
  let [start, end] = [0, source.length]
  while (start < end && isBlank(source[start])) start++
  while (end > start && isBlank(source[end - 1])) end--
  return source.slice(start, end)
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t' || char === '\n'
}
