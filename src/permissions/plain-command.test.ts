import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
  test.each([
    'ls',
    'ls -la',
    'ls -la sub',
    'ls -- sub',
    'cat f',
    'cat "a b"',
    'cat -n f sub/g',
    'cat within',
    'head -n 5 f',
    'head -5 f',
    'head -c10 f',
    'tail -n +3 f',
    'wc -l f',
    'pwd',
    'echo hi',
    "echo '$(rm x)'",
    'echo "a; b"',
    'echo -n x',
    'grep -rn text .',
    "grep -E 'a|b' f",
    'grep -A 3 -B2 text f',
    "grep --include='*.ts' -r x .",
    'grep -e x -e y f',
    "rg -n 'foo.*bar' sub",
    "rg -g '*.ts' x",
    'rg --files',
    'rg -t ts x',
    'git status',
    'git status -sb',
    'git --no-pager log --oneline -5',
    'git log -n 3 --format=%H',
    'git diff',
    'git diff --cached --stat',
    'git diff HEAD~1 -- f',
    'git show HEAD:f',
    "git log -p -- 'sub/g'",
    'git branch',
    'git branch -a',
    'git branch --list x',
    'git branch --show-current',
    ' ls ',
    'cat *',
    'ls sub/*',
    'cat f?',
    'wc -l sub/*',
    'grep -rn text --include=*.ts .',
    'echo $HOME',
    'echo "exit: $?"',
    'ls;',
    'ls\nls',
    'echo "a\nb"',
    'ls | head',
    'cat f | wc -l',
    'git status && git diff',
    'cd sub && ls',
    'cd sub && cat ../f',
    'grep -rn x sub | head -20',
    "find . -name '*.ts'",
    "find . -type f -not -path '*/node_modules/*' -newer f",
    "find . \\( -name '*.a' -o -name b \\) -print0",
    'find . -maxdepth 2 -type d 2>/dev/null | sort | head -50',
    'sed -n 1,20p f',
    "sed -n '1,5p;7p' f",
    'sort f',
    'sort -k2,2nr -t, f',
    'sort | uniq -c | sort -rn',
    'cut -d: -f1,3 f',
    'tr a-z A-Z < f',
    'diff f sub/g',
    'diff -u f sub/g',
    'stat f',
    "stat -c '%s %n' f",
    'file f',
    'du -sh .',
    'du -h --max-depth=1',
    'which node',
    'command -v node',
    'node --version',
    'pwd',
    'date',
    'date +%F',
    "date -d '2 days ago' +%F",
    'true',
    'test -f f',
    '[ -f f ] && cat f || echo none',
    'test -d sub && ls sub',
    'if [ -f f ]; then cat f; else ls; fi',
    'for i in 1 2 3; do echo $i; done',
    'while false; do ls; done',
    '(cd sub && ls); ls',
    '{ ls; cat f; } | wc -l',
    '! grep x f',
    'tail -n 50 f',
    'tail -n 50 f | grep -i error',
    "awk '{print $1}' f",
    "awk -F: '{ print $1, $NF }' f",
    'jq .scripts f',
    'echo "$(git rev-parse HEAD)"',
    'echo `pwd`',
    'timeout 5 ls',
    'time ls',
    'env LC_ALL=C sort f',
    'LC_ALL=C sort f',
    "bash -c 'ls | head'",
    "sh -c 'cat f'",
    'ls # all of it',
    '# all of it\nls',
    'ls \\\n  -la \\\n  sub',
    'set -e; ls',
    'cat <<EOF\nhi\nEOF',
    "cat <<'EOF' | wc -l\n$(x)\nEOF",
    'basename sub/g .ts',
    'tree -L 2',
    'git ls-files | wc -l',
    'git --no-pager diff HEAD | head -5',
    'git blame -L 1,5 f',
    'git remote -v',
    'md5sum f',
    'cat f 2>/dev/null || true',
    'ls -la 2>&1 | head',
    'cat ./f',
    'cat sub/../f',
  ])('%j is one', (command) => {
    expect(decide(command)).toBe('allow')
  })

  test.each([
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
