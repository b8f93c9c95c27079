import fc from 'fast-check'
import { attackRows } from '../fixtures/permissions/attacks.ts'
import { plainCommands } from '../fixtures/permissions/plain-commands.ts'

// Each would run `touch M` somewhere, or make a shell see something else than what a reader sees.
const fragments = [
  'ls',
  'cat f',
  'echo x',
  'touch M',
  'M',
  'f',
  '-n',
  'x=1',
  'sub/g',
  '# c',
  "'a b'",
  '"a b"',
  '"$x"',
  '$x',
  '${x}',
  '${x:-$(touch M)}',
  "$'t'",
  ' ',
  ' ',
  ' ',
  '\t',
  '\n',
  '\\\n',
  ' \\\n',
  ';',
  ' ; ',
  '&&',
  ' && ',
  '||',
  ' | ',
  '|',
  ' & ',
  '&',
  '|&',
  '!',
  '! ',
  '(',
  ')',
  '{ ',
  ' }',
  '; }',
  '$(',
  '$(touch M)',
  '`',
  '`touch M`',
  "'",
  '"',
  '\\',
  '\\ ',
  '<(',
  '>(',
  '<(touch M)',
  '$((',
  '))',
  '$[',
  ']',
  '[',
  '[[ ',
  ' ]]',
  '*',
  '?',
  '~',
  '{a,b}',
  '>',
  ' > out',
  '>out',
  ' 2>',
  ' 2>&1',
  '>&2',
  '&>',
  '>|',
  '<',
  ' < f',
  '<>',
  '<<<',
  ' <<< x',
  '<<EOF',
  "<<'EOF'",
  '<<-EOF',
  '<<"E"OF',
  '\nEOF',
  '\nEOF\n',
  '\n\tEOF\n',
  '\n EOF\n',
  'if true; then ',
  '; then ',
  '; fi',
  'else ',
  'for i in a b; do ',
  '; done',
  'while false; do ',
  'case f in f) ',
  ';; esac',
  'function f ',
  'f() ',
  'coproc ',
  'time ',
  'exec ',
  'eval ',
  'cd sub',
  'set -e',
  'tee out',
  'wc -l',
  '#',
  ' #',
  '\\#',
  '=',
  ',',
  ':',
  ': ',
  '%',
  '@',
  '^',
  'é',
  '\u00a0',
  '\r',
  '0',
  '1',
  '2',
  '-',
]

const fragment = fc.constantFrom(...fragments)
const seeds = [...attackRows.flatMap(([, , commands]) => commands), ...plainCommands].filter(
  (command) => command.length < 200,
)

const fromFragments = fc.array(fragment, { minLength: 1, maxLength: 12 }).map((parts) => parts.join(''))

/** A known command with something put in, taken out or put twice. */
const mutated = fc
  .tuple(fc.constantFrom(...seeds), fc.nat(), fc.nat(6), fragment, fc.nat(3))
  .map(([command, where, length, text, how]) => {
    const at = where % (command.length + 1)
    if (how === 0) return command.slice(0, at) + command.slice(at + length)
    if (how === 1) return command.slice(0, at) + text + command.slice(at)
    if (how === 2) return command.slice(0, at) + text + command.slice(at + length)
    return command.slice(0, at) + command.slice(Math.max(0, at - length))
  })

/** Two known commands with something between them. */
const joined = fc
  .tuple(fc.constantFrom(...seeds), fragment, fc.constantFrom(...seeds))
  .map(([one, between, other]) => one + between + other)

/** Command lines of all kinds, most of them broken: a grammar for finding out what a parser and a shell see differently. */
export const commandLines: fc.Arbitrary<string> = fc.oneof(fromFragments, mutated, mutated, joined)
