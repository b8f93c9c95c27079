import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainCommands } from '../../test/fixtures/permissions/plain-commands.ts'
import type { Action, Rule } from '../core/permission.ts'
import { createDecider } from './decide.ts'
import { defaultRules } from './default-rules.ts'
import { loadShellParser } from './shell/load-shell-parser.ts'

let base: string
let dir: string

beforeAll(async () => {
  await loadShellParser()
  base = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-plain-')))
  dir = join(base, 'proj')
  mkdirSync(join(dir, 'sub'), { recursive: true })
  mkdirSync(join(base, 'proj-evil'))
  for (const name of ['f', 'a b', 'sub/g', '../secret', '../proj-evil/f']) writeFileSync(join(dir, name), 'text\n')
  mkdirSync(join(dir, 'links'))
  symlinkSync('/etc', join(dir, 'links/l'))
  symlinkSync('../../gone', join(dir, 'links/dangling'))
  symlinkSync('sub/g', join(dir, 'within'))
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: dir })
})

afterAll(() => rmSync(base, { recursive: true, force: true }))

function rule(text: string): Rule {
  const [, key, pattern, action] = /^(\w+): (.*) (allow|ask|deny)$/s.exec(text)!
  return { key: key!, pattern: pattern!, action: action as Action, source: 'user' }
}

function decide(command: string, extra: string[] = [], worktree = dir, cwd?: string): Action {
  const settings = { permissionMode: 'ask' as const, rules: [...defaultRules, ...extra.map(rule)] }
  const decider = createDecider({ settings, agentRules: [], grants: [], dir: worktree, agentMayLoosen: true })
  return decider({ key: 'bash', pattern: command, ...(cwd !== undefined && { cwd }) }).action
}

describe('plain read-only commands', () => {
  test.each(plainCommands)('%j is one', (command) => {
    expect(decide(command)).toBe('allow')
  })

  test.each([
    'command -- rm -v',
    'command -- node f -v',
    'echo ~/*',
    'echo "$HOME"/*',
    'echo {/etc,}/*',
    'echo links/l/*',
    'cat ~',
    'cat ~/x',
    'cat -',
    'tail -f f',
    'tail --follow f',
    'tail --pid=1 f',
    'wc --files0-from=f',
    'ls -L',
    'ls /',
    'ls ..',
    'cat /etc/passwd',
    'cat links/l/passwd',
    'cat links/dangling',
    'grep -f /etc/passwd x',
    'grep -R x .',
    'grep x /etc/passwd',
    'grep -e x /etc/passwd',
    'rg -L x',
    'rg --follow x',
    'rg --pre x y',
    'rg --ignore-file /x y',
    'git',
    'git branch new',
    'git branch -d x',
    'git branch -v new',
    'git branch --list -D x',
    'git log --output=x',
    'git diff --no-index a b',
    'git diff ../secret f',
    'git show --textconv',
    'git log --show-signature',
    'git log --format=%G?',
    'git log --pretty=%+G?',
    'git -C . status',
    'git commit',
    'git push',
    'git stash',
    'env',
    'lsx',
    './ls',
    '/bin/ls',
    'LS',
    'echo a > b',
    'X=1',
    'cat "f',
  ])('%j is none', (command) => {
    expect(decide(command)).toBe('ask')
  })

  test('a folder named like the beginning of another, and / itself, are no worktree of it', () => {
    expect(decide(`cat ${base}/proj/f`)).toBe('allow')
    expect(decide(`cat ${base}/proj-evil/f`)).toBe('ask')
    expect(decide('cat etc/passwd', [], '/')).toBe('ask')
  })

  test('a command in another folder is judged from there', () => {
    expect(decide('cat ../f', [], dir, join(dir, 'sub'))).toBe('allow')
    expect(decide('cat ../../secret', [], dir, join(dir, 'sub'))).toBe('ask')
    expect(decide('ls', [], dir, base)).toBe('ask')
  })

  test('git is not plain where the repository itself can make it run programs (A63)', () => {
    const evil = join(base, 'evil')
    mkdirSync(evil)
    const git = (...args: string[]) => execFileSync('git', args, { cwd: evil })
    git('init', '-q', '-b', 'main')
    expect(decide('git status', [], evil)).toBe('allow')
    git('config', 'core.fsmonitor', 'touch M')
    expect(decide('git status', [], evil)).toBe('ask')
    git('config', '--unset', 'core.fsmonitor')
    git('remote', 'add', 'origin', 'https://a.test/x.git')
    git('config', 'user.name', 'x')
    expect(decide('git status', [], evil)).toBe('allow')
    mkdirSync(join(evil, '.git/hooks'), { recursive: true })
    writeFileSync(join(evil, '.git/hooks/post-index-change'), '#!/bin/sh\n')
    chmodSync(join(evil, '.git/hooks/post-index-change'), 0o755)
    expect(decide('git status', [], evil)).toBe('ask')
  })

  test('git is not plain in a bare repository that lies about, nor with sub-modules', () => {
    const bare = join(base, 'bare')
    execFileSync('git', ['init', '-q', '--bare', bare])
    expect(decide('git log', [], bare)).toBe('ask')
    const parent = join(base, 'parent')
    mkdirSync(parent)
    const git = (...args: string[]) => execFileSync('git', args, { cwd: parent })
    git('init', '-q')
    expect(decide('git status', [], parent)).toBe('allow')
    git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`)
    expect(decide('git status', [], parent)).toBe('ask')
  })

  test('git is not plain where its own pointer, or a .git that is none, leads to another configuration', () => {
    const led = join(base, 'led')
    mkdirSync(join(led, 'sub/.git'), { recursive: true })
    execFileSync('git', ['init', '-q'], { cwd: led })
    expect(decide('git status', [], led)).toBe('allow')
    expect(decide('cd sub && git status', [], led)).toBe('ask')
    execFileSync('cp', ['-r', '.git', 'other'], { cwd: led })
    execFileSync('git', ['config', '-f', 'other/config', 'core.fsmonitor', 'touch M'], { cwd: led })
    writeFileSync(join(led, '.git/commondir'), '../other\n')
    expect(decide('git status', [], led)).toBe('ask')
  })

  test('what lists no files is plain with any expansion', () => {
    for (const command of ['echo "$HOME/*"', "echo '~/*' $HOME", 'echo $?', 'echo * sub/*']) {
      expect([command, decide(command)]).toEqual([command, 'allow'])
    }
  })

  test('they read under the rules of reading', () => {
    const kept = ['read: **/f deny']
    expect(decide('cat f', kept)).toBe('deny')
    expect(decide('cat ./sub/../f', kept)).toBe('deny')
    expect(decide('cat sub/g', kept)).toBe('allow')
    expect(decide('grep -r text .', kept)).toBe('ask')
    expect(decide('git diff', kept)).toBe('ask')
  })

  test('a person who wants to be asked of commands is asked of these as well', () => {
    expect(decide('pwd', ['bash: * ask'])).toBe('ask')
    expect(decide('pwd', ['bash: * deny'])).toBe('deny')
  })

  test('a rule with a star covers its own folder only, as the home folder is outside', () => {
    expect(decide('cat ~', ['bash: cat * allow'])).toBe('ask')
    expect(decide(`cat ${homedir()}/x`, ['bash: cat * allow'])).toBe('ask')
    expect(decide('cat /dev/null', ['bash: cat * allow'])).toBe('allow')
  })
})
