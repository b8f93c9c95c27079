import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Action, Rule } from '../src/core/permission.ts'
import { createDecider, type Decide } from '../src/permissions/decide.ts'
import { defaultRules } from '../src/permissions/default-rules.ts'
import { loadShellParser } from '../src/permissions/shell/load-shell-parser.ts'
import { readCommand } from '../src/permissions/shell/read-command.ts'
import { attackRows, everyday } from './fixtures/permissions/attacks.ts'
import { plainCommands } from './fixtures/permissions/plain-commands.ts'
import { commandLines } from './support/command-lines.ts'
import { createRecordingShell, type RecordingShell } from './support/recording-shell.ts'

const programs =
  'ls cat head tail wc grep rg git find sed sort uniq cut diff stat file du which date touch tee rm cp make tr awk jq ' +
  'basename dirname tree md5sum node python3 npm xargs less sudo seq whoami uname id M'
const shells = ['/bin/sh', '/bin/bash'].filter((path) => existsSync(path))

let shell: RecordingShell
beforeAll(async () => {
  await loadShellParser()
  shell = createRecordingShell(programs.split(' '))
})
afterAll(() => shell.close())

function decider(extra: string[] = []): Decide {
  const rules = [...everyday, ...extra].map((text): Rule => {
    const [, key, pattern, action] = /^(\w+): (.*) (allow|ask|deny)$/s.exec(text)!
    return { key: key!, pattern: pattern!, action: action as Action, source: 'user' }
  })
  const settings = { permissionMode: 'ask' as const, rules: [...defaultRules, ...rules] }
  return createDecider({ settings, agentRules: [], grants: [], dir: shell.dir, agentMayLoosen: true })
}

/** What an allowed command did that nobody had approved; undefined for one that is not allowed. */
function excess(command: string, extra: string[] = []): string[] | undefined {
  const { action } = decider(extra)({ key: 'bash', pattern: command })
  if (action !== 'allow') return undefined
  const { units, redirects } = readCommand(command, shell.dir)
  // A program that is named by its path is no stub.
  if (units.some(({ words: [head] }) => head!.text.includes('/'))) return []
  const approved = new Set(units.map(({ words }) => basename(words[0]!.text)))
  const targets = new Set(
    redirects.filter(({ writes }) => writes).flatMap(({ word, folders }) => folders.map((at) => join(at, word.text))),
  )
  return shells.flatMap((path) => {
    const { programs: started, changed } = shell.run(path, command)
    return [
      ...started.filter(([name]) => !approved.has(name!)).map((words) => `${path} ran ${words.join(' ')}`),
      ...changed.filter((file) => !targets.has(join(shell.dir, file))).map((file) => `${path} changed ${file}`),
    ]
  })
}

describe('what is allowed runs and writes nothing else', () => {
  test('each command of the tables', () => {
    const rows = [...attackRows, ['plain', 'allow', plainCommands] as const]
    const allowed = rows.flatMap(([id, , commands, extra]) =>
      commands.map((command) => ({ id, command, did: excess(command, extra) })).filter(({ did }) => did !== undefined),
    )
    expect(allowed.filter(({ did }) => did!.length > 0)).toEqual([])
    expect(allowed.length).toBeGreaterThan(80)
  })

  test('a command that is not allowed would be noticed', () => {
    expect(shell.run('/bin/sh', 'ls | tee x; echo > N; cat <<EOF\n\t$(touch M)\nEOF')).toEqual({
      programs: expect.arrayContaining([['ls'], ['tee', 'x'], ['touch', 'M'], ['cat']]),
      changed: ['N'],
    })
  })

  test('command lines made up at random', (context) => {
    if (!shell.isConfined) context.skip('there is no bubblewrap to run them under')
    let ran = 0
    const rules = ['edit: out* allow', 'bash: tee * allow', 'bash: * allow', 'bash: touch * ask', 'bash: M ask']
    fc.assert(
      fc.property(commandLines, (command) => {
        const did = excess(command, rules)
        if (did !== undefined) ran++
        expect(did ?? []).toEqual([])
      }),
      { numRuns: Number(process.env.LINES ?? 500), ...(process.env.LINES === undefined && { seed: 11 }) },
    )
    expect(ran).toBeGreaterThan(30)
  })
})
