/** One word of a command, quotes removed. `glob` and `tilde`: the shell would expand it to other words. */
export type Word = { text: string; glob: boolean; tilde: boolean }

/** A command read strictly: the words of one simple command, or why it is more (or other) than that. */
export type Lexed = { simple: true; words: Word[] } | { simple: false; why: string }

/** Longer commands are never read as simple. */
const maxCommandLength = 10_000

const operators = new Set([';', '&', '|', '<', '>', '(', ')', '\n'])
const keywords = new Set(
  '! { } [[ ]] if then elif else fi for while until do done case esac select function in time coproc'.split(' '),
)
const assignment = /^[A-Za-z_]\w*(\[.*\])?\+?=/s
// Format characters and blanks that are not seen (or not seen as such), and control characters but tab and newline.
const unseen = /[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?![\t\n])\p{Cc}|(?! )\p{Zs}/u
// Most commands are: the test above takes longer.
const printable = /^[\x20-\x7e\n\t]*$/
// These evaluate array subscripts inside their arguments, even quoted ones: test -v 'a[$(command)]' runs the command.
const evaluators = new Set(
  'test [ printf read declare typeset local export readonly unset let mapfile readarray getopts wait'.split(' '),
)

/** Never says simple of a command in which bash would see anything but these literal words (globs and tildes marked). */
export function lexCommand(command: string): Lexed {
  if (command.length > maxCommandLength) return other('it is very long')
  if (!printable.test(command) && unseen.test(command)) return other('it has control or invisible characters')
  const words: Word[] = []
  let at = skipBlanks(command, 0)
  while (at < command.length) {
    const read = readWord(command, at)
    if (typeof read === 'string') return other(read)
    words.push(read.word)
    at = skipBlanks(command, read.end)
  }
  const why = strangeness(words)
  return why === undefined ? { simple: true, words } : other(why)
}

function strangeness(words: Word[]): string | undefined {
  const head = words[0]
  if (head === undefined || head.text === '') return 'it is empty'
  if (head.glob || head.tilde) return 'its program is not named literally'
  if (keywords.has(head.text)) return `it has the shell keyword ${head.text}`
  if (assignment.test(head.text)) return 'it sets a variable'
  if (evaluators.has(head.text) && words.some(({ text }) => /[$`]/.test(text))) {
    return `${head.text} may evaluate its arguments`
  }
  return undefined
}

type Read = { word: Word; end: number }

function readWord(command: string, start: number): Read | string {
  if (command[start] === '#') return 'it has a comment'
  const word: Word = { text: '', glob: false, tilde: false }
  let braces = false
  let at = start
  while (at < command.length && !isBlank(command[at]!)) {
    const char = command[at]!
    if (operators.has(char)) return 'it has a shell operator'
    if (char === '$' || char === '`') return 'it has an expansion'
    if (char === "'" || char === '"' || char === '\\') {
      const quoted = readQuoted(command, at)
      if (typeof quoted === 'string') return quoted
      word.text += quoted.text
      at = quoted.end
      continue
    }
    if (char === '*' || char === '?' || char === '[') word.glob = true
    if (char === '{' || char === '}') braces = true
    if (char === '~' && /^$|[=:]$/.test(word.text)) word.tilde = true
    word.text += char
    at++
  }
  if (braces && /,|\.\./.test(word.text)) return 'it has a brace expansion'
  return { word, end: at }
}

function readQuoted(command: string, start: number): { text: string; end: number } | string {
  const quote = command[start]
  if (quote === '\\') {
    const next = command[start + 1]
    if (next === undefined || next === '\n') return 'a line goes on'
    return { text: next, end: start + 2 }
  }
  if (quote === "'") {
    const end = command.indexOf("'", start + 1)
    return end === -1 ? 'a quote is not closed' : { text: command.slice(start + 1, end), end: end + 1 }
  }
  return readDoubleQuoted(command, start + 1)
}

function readDoubleQuoted(command: string, start: number): { text: string; end: number } | string {
  let text = ''
  for (let at = start; at < command.length; at++) {
    const char = command[at]!
    if (char === '"') return { text, end: at + 1 }
    if (char === '$' || char === '`') return 'it has an expansion'
    if (char === '\\') {
      const next = command[at + 1]
      if (next === undefined || next === '\n') return 'a line goes on'
      if ('$`"\\'.includes(next)) at++
      text += command[at]
    } else text += char
  }
  return 'a quote is not closed'
}

function skipBlanks(command: string, from: number): number {
  let at = from
  while (at < command.length && isBlank(command[at]!)) at++
  return at
}

function isBlank(char: string): boolean {
  return char === ' ' || char === '\t'
}

function other(why: string): Lexed {
  return { simple: false, why }
}
