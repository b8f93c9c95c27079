/** Classes of POSIX within `[]`, which JavaScript would take for their letters. */
const posix: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7F',
  blank: '\\t ',
  cntrl: '\\x00-\\x1F\\x7F',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-\\/:-@\\[-`{-~',
  space: '\\s',
  upper: 'A-Z',
  word: '\\w',
  xdigit: '0-9A-Fa-f',
}

/** What other dialects write and JavaScript would silently read as a letter. */
const escapes: Readonly<Record<string, string>> = {
  A: '^',
  z: '$',
  Z: '$',
  h: '[\\t ]',
  '<': '\\b(?=\\w)',
  '>': '\\b(?<=\\w)',
  a: '\\x07',
}

/**
 * A regular expression as ripgrep, grep and PCRE have it, in JavaScript's words, where both can say it: `[[:alpha:]]`,
 * `[]x]`, `\A`, `\z`, `\h`, `\<`, `\>` `(?P<name>` and `(?P=name)`.
 */
export function translatePattern(source: string): string {
  let result = ''
  let isInClass = false
  for (let at = 0; at < source.length; ) {
    const [found, meaning] = isInClass ? inClass(source, at) : outside(source, at)
    if (isInClass && found === ']') isInClass = false
    else if (!isInClass && found.startsWith('[')) isInClass = true
    result += meaning
    at += found.length
  }
  return result
}

type Part = [found: string, meaning: string]

function outside(source: string, at: number): Part {
  const char = source[at]!
  if (char === '\\') {
    const found = source.slice(at, at + 2)
    return [found, Object.hasOwn(escapes, found[1] ?? '') ? escapes[found[1]!]! : found]
  }
  if (source.startsWith('(?P<', at)) return ['(?P<', '(?<']
  const [again, name] = /^\(\?P=(\w+)\)/.exec(source.slice(at, at + 100)) ?? []
  if (again !== undefined) return [again, `\\k<${name}>`]
  // Right behind the bracket, a closing one stands for itself.
  const opening = /^\[\^?\]?/.exec(source.slice(at, at + 3))?.[0]
  if (opening === undefined) return [char, char]
  return [opening, opening.replace(']', '\\]')]
}

function inClass(source: string, at: number): Part {
  const char = source[at]!
  if (char === '\\') {
    const found = source.slice(at, at + 2)
    return [found, found === '\\h' ? '\\t ' : found]
  }
  const [found, name] = /^\[:(\w+):\]/.exec(source.slice(at, at + 12)) ?? []
  if (found !== undefined && Object.hasOwn(posix, name!)) return [found, posix[name!]!]
  return [char, char]
}
