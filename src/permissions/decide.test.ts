import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Action, PermissionMode, PermissionRequest, Rule, RuleSource } from '../core/permission.ts'
import { createDecider } from './decide.ts'
import { defaultRules } from './default-rules.ts'
import { isGranted } from './is-granted.ts'
import { loadShellParser } from './shell/load-shell-parser.ts'

let dir: string
beforeAll(async () => {
  await loadShellParser()
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-decide-')))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

type Setup = { rules?: Rule[]; agent?: Rule[]; grants?: Rule[]; mode?: PermissionMode; mayLoosen?: boolean }

function decide(
  request: PermissionRequest,
  { rules = [], agent = [], grants = [], mode = 'ask', mayLoosen = true }: Setup = {},
) {
  const settings = { permissionMode: mode, rules: [...defaultRules, ...rules] }
  return createDecider({ settings, agentRules: agent, grants, dir, agentMayLoosen: mayLoosen })(request)
}

function rule(source: RuleSource, key: string, pattern: string, action: Action): Rule {
  return { key, pattern, action, source }
}

const bash = (pattern: string) => ({ key: 'bash', pattern })
const edit = (pattern: string) => ({ key: 'edit', pattern })

test('without any rule of a person reading is allowed and the rest is asked', () => {
  const actions = ['read', 'skill', 'task', 'edit', 'bash', 'webfetch', 'mcp'].map((key) => [
    key,
    decide({ key, pattern: 'x' }).action,
  ])
  expect(Object.fromEntries(actions)).toEqual({
    read: 'allow',
    skill: 'allow',
    task: 'allow',
    edit: 'ask',
    bash: 'ask',
    webfetch: 'ask',
    mcp: 'ask',
  })
})

describe('scopes', () => {
  test('within a scope the last match wins', () => {
    const one = [rule('user', 'read', 'secret.yml', 'deny'), rule('user', 'read', '*', 'allow')]
    expect(decide({ key: 'read', pattern: 'secret.yml' }, { rules: one }).action).toBe('allow')
    expect(decide({ key: 'read', pattern: 'secret.yml' }, { rules: one.toReversed() }).action).toBe('deny')
    const docs = [rule('user', 'edit', '*', 'deny'), rule('user', 'edit', 'docs/*', 'allow')]
    expect(decide(edit('docs/a.md'), { rules: docs }).action).toBe('allow')
    expect(decide(edit('src/a.ts'), { rules: docs }).action).toBe('deny')
    const all = [rule('user', '*', '*', 'allow'), rule('user', 'edit', '*', 'ask')]
    expect(decide(edit('a'), { rules: all }).action).toBe('ask')
    expect(decide(bash('x'), { rules: all }).action).toBe('allow')
  })

  test('a narrower scope wins over a wider one, but for a deny', () => {
    const ask = rule('user', 'bash', 'make', 'ask')
    expect(decide(bash('make'), { rules: [ask, rule('project', 'bash', 'make', 'allow')] }).action).toBe('allow')
    const deny = rule('user', 'bash', 'make', 'deny')
    for (const source of ['project', 'flag'] as const) {
      expect(decide(bash('make'), { rules: [deny, rule(source, '*', '*', 'allow')] }).action).toBe('deny')
    }
    expect(decide(bash('make'), { rules: [deny], agent: [rule('agent', 'bash', '*', 'allow')] }).action).toBe('deny')
    expect(decide(bash('make'), { rules: [deny], grants: [rule('session', 'bash', 'make', 'allow')] }).action).toBe(
      'deny',
    )
    expect(decide(bash('make'), { rules: [deny], mode: 'allow' }).action).toBe('deny')
  })

  test('the order in which scopes are handed over does not count', () => {
    const rules = [rule('flag', 'bash', 'make', 'allow'), rule('project', 'bash', 'make', 'ask')]
    expect(decide(bash('make'), { rules }).action).toBe('allow')
  })

  test('no flag overrides the deny of another flag', () => {
    const rules = [rule('flag', 'bash', 'make *', 'deny'), rule('flag', 'bash', '*', 'allow')]
    expect(decide(bash('make all'), { rules }).action).toBe('deny')
    expect(decide(bash('ninja all'), { rules }).action).toBe('allow')
  })

  test('an agent can always narrow, and loosen only if it may', () => {
    const narrow = [rule('agent', 'edit', '*', 'deny'), rule('agent', 'read', '*', 'ask')]
    const wide = [rule('agent', 'bash', 'make *', 'allow')]
    for (const mayLoosen of [true, false]) {
      expect(decide(edit('a'), { agent: narrow, mayLoosen }).action).toBe('deny')
      expect(decide({ key: 'read', pattern: 'a' }, { agent: narrow, mayLoosen }).action).toBe('ask')
      expect(decide(bash('make x'), { agent: wide, mayLoosen }).action).toBe(mayLoosen ? 'allow' : 'ask')
    }
  })

  test('an agent cannot dress up its rules as those of another scope', () => {
    const agent = [rule('flag', 'bash', 'make *', 'allow')]
    expect(decide(bash('make x'), { agent, mayLoosen: false }).action).toBe('ask')
  })

  test('a deny of **/.env holds at the top as well', () => {
    const rules = [rule('user', 'read', '**/.env', 'deny')]
    const actions = ['.env', 'sub/.env', '.envrc'].map((pattern) => decide({ key: 'read', pattern }, { rules }).action)
    expect(actions).toEqual(['deny', 'deny', 'allow'])
  })
})

describe('outside of the worktree', () => {
  const request = { key: 'read', pattern: '/o/p/f', outside: '/o/p/f' }

  test('the stricter of both keys counts', () => {
    expect(decide(request).action).toBe('ask')
    expect(decide(request, { rules: [rule('user', 'external_directory', '/o/*', 'allow')] }).action).toBe('allow')
    expect(decide(request, { rules: [rule('user', 'external_directory', '*', 'deny')] }).action).toBe('deny')
    const kept = [rule('user', 'external_directory', '*', 'allow'), rule('user', 'read', '*', 'deny')]
    expect(decide(request, { rules: kept }).action).toBe('deny')
  })

  test('always to a read stores its folder, and answers the next one there', () => {
    const { grant } = decide(request)
    expect(grant).toEqual(rule('session', 'external_directory', '/o/p/*', 'allow'))
    expect(decide({ ...request, pattern: '/o/p/q/g', outside: '/o/p/q/g' }, { grants: [grant!] }).action).toBe('allow')
    expect(decide({ ...request, pattern: '/o/pq', outside: '/o/pq' }, { grants: [grant!] }).action).toBe('ask')
  })

  test('where both keys ask, there is nothing to store', () => {
    expect(decide({ ...request, key: 'edit' })).not.toHaveProperty('grant')
  })

  test('a file at the top is stored alone', () => {
    expect(decide({ key: 'read', pattern: '/f', outside: '/f' }).grant?.pattern).toBe('/f')
  })
})

describe('modes', () => {
  const actions = (mode: PermissionMode, rules: Rule[] = []) => ({
    edit: decide(edit('a'), { mode, rules }).action,
    guarded: decide(edit('.git/hooks/pre-commit'), { mode, rules }).action,
    outside: decide({ ...edit('/o'), outside: '/o' }, { mode, rules }).action,
    bash: decide(bash('make'), { mode, rules }).action,
    plain: decide(bash('pwd'), { mode, rules }).action,
    read: decide({ key: 'read', pattern: 'a' }, { mode, rules }).action,
  })

  test('each mode turns what would ask', () => {
    const reading = { plain: 'allow', read: 'allow' }
    expect(actions('ask')).toEqual({ edit: 'ask', guarded: 'ask', outside: 'ask', bash: 'ask', ...reading })
    expect(actions('edits')).toEqual({ edit: 'allow', guarded: 'ask', outside: 'ask', bash: 'ask', ...reading })
    expect(actions('allow')).toEqual({ edit: 'allow', guarded: 'allow', outside: 'allow', bash: 'allow', ...reading })
    expect(actions('deny')).toEqual({ edit: 'deny', guarded: 'deny', outside: 'deny', bash: 'deny', ...reading })
    const all = [rule('user', '*', '*', 'allow')]
    expect(actions('strict', all)).toEqual({
      edit: 'ask',
      guarded: 'ask',
      outside: 'ask',
      bash: 'ask',
      plain: 'ask',
      read: 'allow',
    })
    expect(actions('strict')).toMatchObject(reading)
  })

  test('deny says that nobody was asked, names the flag and is marked', () => {
    const decision = decide(bash('make'), { mode: 'deny' })
    expect(decision).toMatchObject({ action: 'deny', unasked: true })
    expect(decision.reason).toContain('nobody was asked')
    expect(decision.reason).toContain("--allow 'bash:make'")
    expect(decide({ key: 'read', pattern: '/o/f', outside: '/o/f' }, { mode: 'deny' }).reason).toContain(
      'external_directory:',
    )
  })

  test('a deny by a rule is not marked as unasked', () => {
    const decision = decide(bash('make'), { mode: 'deny', rules: [rule('user', 'bash', 'make', 'deny')] })
    expect(decision.reason).toBe('Denied: the rule bash "make" (user) says deny; nobody was asked.')
    expect(decision).not.toHaveProperty('unasked')
  })

  test('strict offers no always', () => {
    expect(decide(bash('make'), { mode: 'strict' })).not.toHaveProperty('grant')
  })
})

describe('what always stores (A69)', () => {
  test.each<[command: string, stored: string | undefined]>([
    ['ls -la src', 'ls *'],
    ['git status', 'git status *'],
    ['git commit -m "a b"', 'git commit *'],
    ['npm test', 'npm test *'],
    ['npm run x', 'npm run x *'],
    ['npm run test:unit -- a', 'npm run test:unit *'],
    ['cargo check --all', 'cargo check *'],
    ...[
      'env FOO=1 ls',
      'sudo ls',
      'xargs ls',
      'timeout 5 ls',
      'bash -c ls',
      'node x.js',
      'python3 x.py',
      'npx vite',
      'find . -name x',
      'docker run a',
      'ssh h ls',
      'make',
      'curl u',
      'awk 1 f',
      'sed -n 1p f',
      'rm -r build',
      'git push',
      'git clean -fd',
      'git -c a=b status',
      'git log --output=M',
      'npm install x',
      'npm run',
      'git',
      './run.sh a',
      'make && make install',
    ].map((command): [string, string] => [command, command]),
    ['rm *.o', undefined],
    ['make a?', undefined],
    ['make\nx', undefined],
  ])('for %j it is %j', (command, stored) => {
    expect(decide(bash(command), { rules: [rule('user', 'bash', '*', 'ask')] }).grant?.pattern).toBe(stored)
  })

  test('for an edit it is every edit, but not of protected files', () => {
    expect(decide(edit('a')).grant).toEqual(rule('session', 'edit', '*', 'allow'))
    expect(decide(edit('.git/config'))).not.toHaveProperty('grant')
    const grants = [rule('session', 'edit', '*', 'allow')]
    expect(decide(edit('b'), { grants }).action).toBe('allow')
    expect(decide(edit('.git/config'), { grants }).action).toBe('ask')
  })

  test('for the web it is the origin', () => {
    expect(decide({ key: 'webfetch', pattern: 'https://docs.test/a?b' }).grant?.pattern).toBe('https://docs.test/*')
    for (const pattern of [
      'https://u@docs.test/',
      'file:///etc/passwd',
      'nothing',
      'https:docs.test/',
      'HTTPS://docs.test/',
    ]) {
      expect(decide({ key: 'webfetch', pattern })).not.toHaveProperty('grant')
    }
  })

  test('a stored git status * does not answer for more (A70)', () => {
    const grants = [decide(bash('git status'), { rules: [rule('user', 'bash', '*', 'ask')] }).grant!]
    expect(grants[0]).toMatchObject({ argv: ['git', 'status'], more: true, pattern: 'git status *' })
    expect(decide(bash('git status -s'), { grants, rules: [rule('user', 'bash', '*', 'ask')] }).action).toBe('allow')
    for (const command of ['git statusx', 'git -c a=b status', 'git status; touch M', 'git status > f']) {
      expect([command, decide(bash(command), { grants }).action]).toEqual([command, 'ask'])
    }
  })

  test('a stored ls * does not answer for other programs (A71)', () => {
    const grants = [rule('session', 'bash', 'ls *', 'allow')]
    for (const command of ['lsof', 'ls/evil', 'LS', 'ls*']) expect(decide(bash(command), { grants }).action).toBe('ask')
  })

  test('answers of older journals, which are text, are read as words', () => {
    const grants = [rule('session', 'bash', 'git status *', 'allow'), rule('session', 'bash', 'make all', 'allow')]
    const ask = [rule('user', 'bash', '*', 'ask')]
    for (const command of ['git status -s', 'make all', 'make all && git status']) {
      expect([command, decide(bash(command), { grants, rules: ask }).action]).toEqual([command, 'allow'])
    }
    for (const command of ["git 'status -s'", "git 'status'x", 'make all x']) {
      expect([command, decide(bash(command), { grants, rules: ask }).action]).toEqual([command, 'ask'])
    }
  })

  test('stars of a command are stored as what they are (A75)', () => {
    const [grant] = [decide(bash("make 'echo * ; *'")).grant!]
    expect(grant.argv).toEqual(['make', 'echo * ; *'])
    expect(decide(bash("make 'echo * ; *'"), { grants: [grant] }).action).toBe('allow')
    for (const command of ["make 'echo x ; y'", 'make echo x ";" y', 'make echo * ";" *', 'make echo x; touch M']) {
      expect([command, decide(bash(command), { grants: [grant] }).action]).toEqual([command, 'ask'])
    }
  })

  test('an exact answer covers that command alone, operators and all', () => {
    const grants = [rule('session', 'bash', 'make && make install', 'allow')]
    expect(decide(bash('make && make install'), { grants }).action).toBe('allow')
    expect(decide(bash('make && make install x'), { grants }).action).toBe('ask')
  })
})

describe('stored answers and waiting questions', () => {
  const asked = (request: PermissionRequest) => decide(request, { rules: [rule('user', '*', '*', 'ask')] })
  const outside = (request: PermissionRequest) => asked({ ...request, outside: request.pattern })

  test('a stored answer answers what would have stored the same, or less', () => {
    const ls = [rule('session', 'bash', 'ls *', 'allow'), asked(bash('ls -a')).grant!]
    for (const stored of ls.map((one) => ({ ...one, more: true as const }))) {
      expect(isGranted([stored], asked(bash('ls -x')))).toBe(true)
      expect(isGranted([stored], asked(bash('ls | ls -a')))).toBe(true)
      expect(isGranted([stored], asked(bash('ls; touch M')))).toBe(false)
      expect(isGranted([stored], asked(bash('ls /etc')))).toBe(false)
    }
    expect(isGranted([], asked(bash('pwd')))).toBe(false)
    const edits = [rule('session', 'edit', '*', 'allow')]
    expect(isGranted(edits, asked(edit('a/b')))).toBe(true)
    expect(isGranted(edits, outside(edit('/etc/x')))).toBe(false)
  })

  test('several stored answers answer a line of several commands together', () => {
    const question = asked(bash('npm test && git status'))
    const [test, status] = [asked(bash('npm test')).grant!, asked(bash('git status -s')).grant!]
    expect(isGranted([test], question)).toBe(false)
    expect(isGranted([test, status], question)).toBe(true)
  })

  test('an exact answer answers the same line again', () => {
    const question = asked(bash('make && make install'))
    expect(isGranted([question.grant!], asked(bash('make && make install')))).toBe(true)
    expect(isGranted([question.grant!], asked(bash('make && make x')))).toBe(false)
  })
})
