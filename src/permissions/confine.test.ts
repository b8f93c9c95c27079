import { beforeAll, describe, expect, test } from 'vitest'
import type { Rule } from '../core/permission.ts'
import type { SandboxSettings } from '../core/settings.ts'
import { createDecider } from './decide.ts'
import { defaultRules } from './default-rules.ts'
import { loadShellParser } from './shell/load-shell-parser.ts'

beforeAll(loadShellParser)

const rule = (pattern: string, action: Rule['action'], source: Rule['source'] = 'user', key = 'bash'): Rule => ({
  key,
  pattern,
  action,
  source,
})

function deciding(sandbox: Partial<SandboxSettings>, rules: Rule[] = [], permissionMode: 'ask' | 'allow' = 'ask') {
  const confined: SandboxSettings = { mode: 'workspace-write', network: false, runsUnasked: true, ...sandbox }
  const settings = { permissionMode, rules: [...defaultRules, ...rules], sandbox: confined }
  const decide = createDecider({ settings, agentRules: [], grants: [], dir: '/nowhere/proj', agentMayLoosen: true })
  return (pattern: string) => decide({ key: 'bash', pattern })
}

describe('commands that may run in the sandbox without a question', () => {
  test.each(['touch a', 'make', 'npm test', 'python3 x.py', 'echo a > b', 'eval "$x"', 'if', 'f() { x; }; f'])(
    '%s',
    (command) => {
      expect(deciding({})(command)).toMatchObject({ action: 'allow', leave: {} })
      expect(deciding({ runsUnasked: false })(command).action).toBe('ask')
    },
  )
})

describe('commands that need more ask, and a yes gives it', () => {
  test.each([
    ['curl https://example.org', { network: true }],
    ['make && npm install', { network: true }],
    ['timeout 5 wget x', { network: true }],
    ['git commit -m x', { git: true }],
    ['git -C sub --no-pager push', { network: true, git: true }],
    ['touch /etc/x', { paths: ['/etc/x'] }],
    ['echo x > .envrc', { paths: ['/nowhere/proj/.envrc'] }],
  ])('%s', (command, leave) => {
    expect(deciding({})(command)).toMatchObject({ action: 'ask', leave })
  })

  test('with the network on, that is nothing to ask for', () => {
    expect(deciding({ network: true })('curl https://example.org').action).toBe('allow')
    expect(deciding({ network: true })('git push').action).toBe('ask')
  })

  test('where only reading is allowed, writing a file by name is', () => {
    expect(deciding({ mode: 'read-only' })('echo x > a')).toMatchObject({
      action: 'ask',
      leave: { paths: ['/nowhere/proj/a'] },
    })
    expect(deciding({ mode: 'read-only' })('make').action).toBe('allow')
  })
})

describe('rules', () => {
  test('that deny, or name what to ask about, hold in the sandbox', () => {
    const decide = deciding({}, [rule('rm *', 'deny'), rule('make *', 'ask')])
    expect(['rm a', 'true; rm a', 'make'].map((command) => decide(command).action)).toEqual(['deny', 'deny', 'ask'])
  })

  test('that name a command let it do what it is about; a bare star, or a mode, lets it do no more than the sandbox', () => {
    const named = deciding({}, [rule('git commit *', 'allow')])('git commit -m x')
    expect(named).toMatchObject({ action: 'allow', leave: { git: true } })
    expect(deciding({}, [rule('*', 'allow')])('git commit -m x').action).toBe('ask')
    expect(deciding({}, [], 'allow')('git commit -m x')).toMatchObject({ action: 'allow', leave: {} })
  })
})

describe('without the sandbox that was asked for', () => {
  test.each(['ls', 'make', 'git status'])('%s asks, whatever the rules and the mode', (command) => {
    const rules = [rule('*', 'allow'), rule(command, 'allow')]
    expect(deciding({ unusable: 'no bwrap' }, rules)(command).action).toBe('ask')
    expect(deciding({ unusable: 'no bwrap' }, rules, 'allow')(command).action).toBe('ask')
    expect(deciding({ unusable: 'no bwrap' }, [rule(command, 'deny')], 'allow')(command).action).toBe('deny')
  })
})
