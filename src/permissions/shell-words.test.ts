import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lexCommand } from './shell-words.ts'

test.each([
  ['git log "a; b"', ['git', 'log', 'a; b']],
  ["git log 'x && y'", ['git', 'log', 'x && y']],
  ["git commit -m '$(rm x)'", ['git', 'commit', '-m', '$(rm x)']],
  ['echo "say \\"hi\\""', ['echo', 'say "hi"']],
  ["e'ch'o a\\ b", ['echo', 'a b']],
  ['git show stash@{0}', ['git', 'show', 'stash@{0}']],
  ['git commit -m "one\n\ntwo"', ['git', 'commit', '-m', 'one\n\ntwo']],
])('%j is one simple command', (command, words) => {
  const lexed = lexCommand(command)
  expect(lexed.simple && lexed.words.map(({ text }) => text)).toEqual(words)
})

test.each([
  'ls; x',
  'ls|x',
  'ls &',
  'ls\nx',
  '(ls)',
  '{ ls; }',
  'ls > f',
  'ls < f',
  'ls 2>&1',
  'echo $X',
  'echo "$X"',
  'echo `x`',
  'echo "`x`"',
  'X=1 ls',
  'X+=1',
  'a[0]=1',
  'if x',
  '! ls',
  'time ls',
  'coproc x',
  'ls # x',
  "ls 'x",
  'ls "x',
  'ls \\',
  'ls \\\nx',
  'ls\r x',
  'ls\u00a0x',
  'ls\u200bx',
  'ls \u202ex',
  'echo {a,b}',
  'echo {1..3}',
  "r$'\\x6d' x",
  '',
  '  ',
  "test -v 'a[$(x)]'",
  '*/x',
  '~/x',
])('%j is not simple', (command) => {
  expect(lexCommand(command).simple).toBe(false)
})

test('a very long command is not simple', () => {
  expect(lexCommand('x '.repeat(5001))).toEqual({ simple: false, why: 'it is very long' })
})

test('what is read as simple has in bash the same words, and nothing else', () => {
  const pieces = fc.constantFrom(
    'a',
    'b',
    ' ',
    '  ',
    '\t',
    "'",
    '"',
    '\\',
    '$',
    '`',
    ';',
    '&',
    '|',
    '(',
    ')',
    '{',
    '}',
    '<',
    '>',
    '#',
    '!',
    '=',
    '~',
    '\n',
    '-',
    ',',
    '..',
    '[',
    ']',
    '@',
    '^',
    '%',
    '1',
  )
  const commands = fc.array(pieces, { minLength: 1, maxLength: 14 }).map((parts) => parts.join(''))
  const simple = new Map<string, string[]>()
  fc.assert(
    fc.property(commands, (command) => {
      const lexed = lexCommand(`a ${command}`)
      if (lexed.simple && !lexed.words.some(({ glob, tilde }) => glob || tilde)) {
        simple.set(
          command,
          lexed.words.slice(1).map(({ text }) => text),
        )
      }
    }),
    { numRuns: 6000 },
  )
  expect(simple.size).toBeGreaterThan(200)
  const script = [...simple.keys()].map((command) => `show ${command}\n`).join('')
  for (const shell of ['bash', 'sh']) {
    const show = 'show() { printf "%s\\001" "$@"; printf "\\002"; }\n'
    const run = spawnSync(shell, { input: `${show}${script}`, encoding: 'utf8' })
    expect(run.stderr).toBe('')
    const seen = run.stdout.split('\u0002').slice(0, -1)
    const words = [...simple.values()].map((list) =>
      list.length === 0 ? '\u0001' : list.map((word) => `${word}\u0001`).join(''),
    )
    expect(seen).toEqual(words)
  }
}, 60_000)
