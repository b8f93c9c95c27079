import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { attackRows, everyday } from '../../test/fixtures/permissions/attacks.ts'
import { plainCommands } from '../../test/fixtures/permissions/plain-commands.ts'
import type { Action, Rule } from '../core/permission.ts'
import { createDecider } from './decide.ts'
import { defaultRules } from './default-rules.ts'
import { isStricter } from './resolve-rules.ts'
import { loadShellParser } from './shell/load-shell-parser.ts'

let dir: string

beforeAll(async () => {
  await loadShellParser()
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-laws-')))
  mkdirSync(join(dir, 'sub'))
  for (const name of ['f', 'a b', 'sub/g']) writeFileSync(join(dir, name), 'text\n')
  execFileSync('git', ['init', '-q'], { cwd: dir })
})

afterAll(() => rmSync(dir, { recursive: true, force: true }))

const extra = [...new Set(attackRows.flatMap(([, , , rules = []]) => rules)), 'bash: git push* deny', 'read: **/f deny']
const rules = fc.subarray([...everyday, ...extra], { maxLength: 6 })

// A folder that is changed, a comment and a here-document reach beyond their own command; invisible characters keep a
// whole line from being read.
const commands = [...attackRows.flatMap(([, , lines]) => lines), ...plainCommands].filter(
  (line) => line.length < 500 && /^[\x20-\x7e\n\t]*$/.test(line) && !/#|<<|\bcd\b|pushd|\\$/.test(line),
)
const command = fc.constantFrom(...commands)

function decide(line: string, texts: string[]): Action {
  const given = texts.map((text): Rule => {
    const [, key, pattern, action] = /^(\w+): (.*) (allow|ask|deny)$/s.exec(text)!
    return { key: key!, pattern: pattern!, action: action as Action, source: 'user' }
  })
  const settings = { permissionMode: 'ask' as const, rules: [...defaultRules, ...given] }
  const decider = createDecider({ settings, agentRules: [], grants: [], dir, agentMayLoosen: true })
  return decider({ key: 'bash', pattern: line }).action
}

/** The line is judged at least as strictly as each of its parts. */
function expectNoLooser(line: string, parts: string[], given: string[]): void {
  const action = decide(line, given)
  const looser = parts.filter((part) => isStricter(decide(part, given), action))
  expect({ line, action, looser }).toEqual({ line, action, looser: [] })
}

test('a further command never loosens', () => {
  const joins = fc.constantFrom('; ', ' && ', ' || ', ' | ', '\n', ' & ')
  fc.assert(
    fc.property(command, joins, command, rules, (one, between, other, given) =>
      expectNoLooser(one + between + other, [one, other], given),
    ),
    { numRuns: 1500, seed: 1 },
  )
})

test('a command within others is judged as by itself, or more strictly', () => {
  const frames: ((line: string) => string)[] = [
    (line) => `(${line})`,
    (line) => `( ${line} )`,
    (line) => `{ ${line}; }`,
    (line) => `{\n${line}\n}`,
    (line) => `if true; then ${line}; fi`,
    (line) => `if ${line}; then ls; fi`,
    (line) => `for i in a b; do ${line}; done`,
    (line) => `while ${line}; do break; done`,
    (line) => `! ${line}`,
    (line) => `echo $(${line})`,
    (line) => `echo "$(${line})"`,
    (line) => `cat <(${line})`,
    (line) => `f() { ${line}; }`,
    (line) => `case a in a) ${line};; esac`,
    (line) => `[[ $(${line}) ]]`,
    (line) => `bash -c '${line.replaceAll("'", `'\\''`)}'`,
  ]
  fc.assert(
    fc.property(command, fc.constantFrom(...frames), rules, (line, frame, given) =>
      expectNoLooser(frame(line), [line], given),
    ),
    { numRuns: 1500, seed: 1 },
  )
})
