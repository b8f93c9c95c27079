import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attackRows, everyday } from '../../test/fixtures/permissions/attacks.ts'
import type { Action, PermissionMode, Rule } from '../core/permission.ts'
import { createDecider } from './decide.ts'
import { defaultRules } from './default-rules.ts'
import { loadShellParser } from './shell/load-shell-parser.ts'

let base: string
let dir: string

beforeAll(async () => {
  await loadShellParser()
  base = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-attacks-')))
  dir = join(base, 'proj')
  mkdirSync(join(dir, 'sub'), { recursive: true })
  mkdirSync(join(base, 'proj-evil'))
  for (const name of ['f', 'a b', 'sub/g', '../secret', '../proj-evil/f']) writeFileSync(join(dir, name), 'text\n')
  symlinkSync('/etc', join(dir, 'l'))
  symlinkSync('../gone', join(dir, 'dangling'))
  symlinkSync('sub/g', join(dir, 'within'))
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: dir })
})

afterAll(() => rmSync(base, { recursive: true, force: true }))

function rule(text: string, source: Rule['source'] = 'user'): Rule {
  const [, key, pattern, action] = /^(\w+): (.*) (allow|ask|deny)$/s.exec(text)!
  return { key: key!, pattern: pattern!, action: action as Action, source }
}

function decide(command: string, extra: string[] = [], mode: PermissionMode = 'ask') {
  const rules = [...defaultRules, ...everyday.map((text) => rule(text)), ...extra.map((text) => rule(text))]
  const settings = { permissionMode: mode, rules }
  return createDecider({ settings, agentRules: [], grants: [], dir, agentMayLoosen: true })({
    key: 'bash',
    pattern: command,
  })
}

describe('the attack table', () => {
  for (const [id, expected, commands, extra] of attackRows) {
    test.each(commands.map((command) => [command]))(`${id}: %j comes out ${expected}`, (command) => {
      expect(decide(command, extra).action).toBe(expected)
    })
  }

  test('headless each row that asks is denied', () => {
    for (const [, expected, commands, extra] of attackRows) {
      if (expected === 'allow') continue
      for (const command of commands) {
        expect([command, decide(command, extra, 'deny').action]).toEqual([command, 'deny'])
      }
    }
  })

  test('deny rules hold in every mode', () => {
    for (const mode of ['ask', 'edits', 'allow', 'deny', 'strict'] as const) {
      expect(decide('ls && rm x', [], mode).action).toBe('deny')
    }
  })

  test('each command of a line is a unit of its own, however far away (A37)', () => {
    const units = decide(`ls${' '.repeat(5000)}; touch M; cat f | tee N`).units!
    expect(units.map(({ pattern, action }) => `${action}: ${pattern}`)).toEqual([
      'allow: ls',
      'ask: touch M',
      'allow: cat f',
      'ask: tee N',
    ])
  })
})
