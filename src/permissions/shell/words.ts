/**
 * One word of a command. `text`: quotes removed; of a dynamic word its source. `glob`, `tilde`: the shell would expand it
 * to other words. `dynamic`: what it will be is known only when it runs (`$x`, `$(...)`, `{a,b}`).
 */
export type Word = { text: string; raw: string; glob: boolean; tilde: boolean; dynamic: boolean }

const operators = new Set([';', '&', '|', '<', '>', '(', ')', '\n', ' ', '\t'])

/** The word that `raw` is, read as bash and dash both would; undefined where it is not exactly one word. */
export function readWord(raw: string): Word | undefined {
  const read = readFrom(raw, 0)
  return read === undefined || (read.end !== raw.length && !read.word.dynamic) ? undefined : { ...read.word, raw }
}

/** The words of one simple command, blanks between them; undefined where there is an operator or an open quote. */
export function splitWords(source: string): Word[] | undefined {
  const words: Word[] = []
  let at = skipBlanks(source, 0)
  while (at < source.length) {
    const read = source[at] === '#' ? undefined : readFrom(source, at)
    if (read === undefined || read.end === at || read.word.dynamic) return undefined
    words.push({ ...read.word, raw: source.slice(at, read.end) })
    at = skipBlanks(source, read.end)
  }
  return words
}

/** A word whose value is known only when the command runs. */
export function dynamicWord(raw: string): Word {
  return { text: raw, raw, glob: false, tilde: false, dynamic: true }
}

type Read = { word: Omit<Word, 'raw'>; end: number }

const dynamic: Read = { word: { text: '', glob: false, tilde: false, dynamic: true }, end: -1 }

function readFrom(source: string, start: number): Read | undefined {
  const word = { text: '', glob: false, tilde: false, dynamic: false }
  let [braces, bracket] = [false, false]
  let at = start
  while (at < source.length && !operators.has(source[at]!)) {
    const char = source[at]!
    if (char === '$' || char === '`') return unknownFrom(source)
    if (char === "'" || char === '"' || char === '\\') {
      const quoted = readQuoted(source, at)
      if (quoted === 'dynamic') return unknownFrom(source)
      if (quoted === undefined) return undefined
      word.text += quoted.text
      at = quoted.end
      continue
    }
    if (char === '*' || char === '?' || (char === ']' && bracket)) word.glob = true
    if (char === '[') bracket = true
    if (char === '{' || char === '}') braces = true
    if (char === '~' && /^$|[=:]$/.test(word.text)) word.tilde = true
    word.text += char
    at++
  }
  // bash expands braces, dash does not.
  return braces && /,|\.\./.test(word.text) ? unknownFrom(source) : { word, end: at }
}

function unknownFrom(source: string): Read {
  return { word: { ...dynamic.word, text: source }, end: source.length }
}

type Quoted = { text: string; end: number } | 'dynamic' | undefined

function readQuoted(source: string, start: number): Quoted {
  const quote = source[start]
  if (quote === '\\') {
    const next = source[start + 1]
    return next === undefined || next === '\n' ? undefined : { text: next, end: start + 2 }
  }
  if (quote === '"') return readDoubleQuoted(source, start + 1)
  const end = source.indexOf("'", start + 1)
  return end === -1 ? undefined : { text: source.slice(start + 1, end), end: end + 1 }
}

function readDoubleQuoted(source: string, start: number): Quoted {
  let text = ''
  for (let at = start; at < source.length; at++) {
    const char = source[at]!
    if (char === '"') return { text, end: at + 1 }
    if (char === '$' || char === '`') return 'dynamic'
    if (char === '\\') {
      const next = source[at + 1]
      if (next === undefined || next === '\n') return undefined
      if ('$`"\\'.includes(next)) at++
      text += source[at]
    } else text += char
  }
  return undefined
}

function skipBlanks(source: string, from: number): number {
  let at = from
  while (source[at] === ' ' || source[at] === '\t') at++
  return at
}
