import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Action, PermissionMode, Rule } from '../core/permission.ts'
import { createDecider } from './decide.ts'
import { defaultRules } from './default-rules.ts'
import { isPlainReadOnly } from './plain-command.ts'

let base: string
let dir: string

beforeAll(() => {
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

const s0 = [
  'bash: echo * allow',
  'bash: ls * allow',
  'bash: cat * allow',
  'bash: git status * allow',
  'bash: rm * deny',
]

function decide(command: string, extra: string[] = [], mode: PermissionMode = 'ask') {
  const rules = [...defaultRules, ...s0.map((text) => rule(text)), ...extra.map((text) => rule(text))]
  const settings = { permissionMode: mode, rules }
  return createDecider({ settings, agentRules: [], grants: [], dir, agentMayLoosen: true })({
    key: 'bash',
    pattern: command,
  })
}

// Each row: id, expected action, commands, further rules. `ask` is right where a deny would be as well.
const rows: [id: string, expected: Action, commands: string[], extra?: string[]][] = [
  ['A01', 'ask', ['ls && touch M']],
  ['A02', 'ask', ['ls; touch M', 'ls;touch M']],
  ['A03', 'ask', ['ls || touch M']],
  ['A04', 'ask', ['ls | tee M', 'ls |& tee M']],
  ['A05', 'ask', ['ls & touch M', 'ls&touch M']],
  ['A06', 'ask', ['ls .\ntouch M']],
  ['A07', 'ask', ['ls # x\ntouch M']],
  ['A10', 'ask', ['touch M && ls']],
  ['A11', 'ask', ['cd /proj && touch M'], ['bash: cd * allow']],
  ['A12', 'ask', ['{ touch M; }', '( touch M )', '! touch M', '! ! touch M']],
  ['A12', 'ask', ['{ touch M; }', '! touch M'], ['bash: ! * allow', 'bash: { * allow']],
  [
    'A13',
    'ask',
    [
      'if true; then touch M; fi',
      'for i in a; do touch M; done',
      'while true; do touch M; done',
      'case a in a) touch M;; esac',
    ],
  ],
  ['A14', 'ask', ['ls() { touch M; }; ls']],
  ['A15', 'ask', ["alias ls='touch M'"], ['bash: alias * allow']],
  ['A16', 'deny', [`${'true && '.repeat(60)}rm x`, `${'true && '.repeat(3000)}rm x`]],
  ['A16', 'ask', [`${'true && '.repeat(60)}touch M`]],
  ['A18', 'ask', ['coproc touch M', 'time touch M', 'time -p touch M'], ['bash: time * allow', 'bash: coproc * allow']],
  ['A19', 'deny', ['cat f; rm x']],
  ['A20', 'ask', ['echo $(touch M)', 'echo `touch M`', 'echo "$(touch M)"']],
  ['A21', 'ask', ['echo ${x:-$(touch M)}', 'echo ${x/$(touch M)/}', 'echo $((1+$(touch M)))', 'echo $[$(touch M)]']],
  ['A22', 'ask', ['cat <(touch M)', 'tee >(touch M)', 'cat < <(touch M)']],
  ['A23', 'ask', ['echo hi > $(touch M)', 'echo hi 2> `touch M`']],
  ['A24', 'ask', ['cat <<EOF\n\t$(touch M)\nEOF']],
  ['A27', 'ask', ["cat <<'EOF'\n$(touch M)\nEOF"]],
  ['A28', 'ask', ["cat <<'EOF'; touch M\nx\nEOF", "cat <<'EOF' > f | sh\nx\nEOF"]],
  [
    'A29',
    'ask',
    ["test -v 'a[$(touch M)]'", "printf -v 'a[$(touch M)]' x"],
    ['bash: test * allow', 'bash: printf * allow'],
  ],
  ['A33', 'ask', ['$X x', '"$X" x', '$(echo rm) x', 'a=rm;$a x'], ['bash: * allow']],
  ['A34', 'deny', ['r\\m x', "r''m x", '"rm" x', '\\rm x', '/bin/rm x'], ['bash: echo * allow']],
  ['A34', 'ask', ["r$'\\x6d' x"]],
  ['A35', 'ask', ['ls\r rm x', 'ls \u001b[2K', 'ls \u0007']],
  ['A37', 'ask', [`ls${' '.repeat(5000)}; touch M`]],
  ['A38', 'deny', ['ls \0']],
  ['A40', 'ask', ['> ~/.bashrc']],
  ['A40', 'deny', ['> ~/.bashrc'], ['bash: * deny']],
  ['A41', 'ask', ['export PATH=/proj/bin:$PATH', 'declare -x A=b', 'FOO=bar', 'unset HOME', 'readonly X=1']],
  [
    'A42',
    'ask',
    ["GIT_PAGER='touch M' git -p log", 'LD_PRELOAD=./x.so ls', 'PATH=. ls', 'BASH_ENV=./e bash -c true'],
    ['bash: git * allow'],
  ],
  [
    'A45',
    'ask',
    ['eval "touch M"', 'source ./x', '. ./x', 'command touch M', 'builtin eval x', 'exec touch M'],
    [
      'bash: eval * allow',
      'bash: source * allow',
      'bash: . * allow',
      'bash: command * allow',
      'bash: builtin * allow',
      'bash: exec * allow',
    ],
  ],
  [
    'A46',
    'ask',
    [
      'echo x > ~/.bashrc',
      'echo x >> ~/.bashrc',
      'echo x >| ~/.bashrc',
      'echo x &> ~/.bashrc',
      'echo x 2> ~/.bashrc',
      'echo x 1<> ~/.bashrc',
    ],
  ],
  ['A47', 'ask', ['ls > out.txt']],
  [
    'A50',
    'ask',
    [
      'cat /etc/passwd',
      'cat ../secret',
      'cat ~/.ssh/id_x',
      'cat l/passwd',
      'cat sub/../../secret',
      'cat ../proj-evil/f',
      'cat dangling',
      'cat l/../etc/passwd',
    ],
  ],
  ['A51', 'ask', ['cd .. && cat secret', 'cd / ; echo x > proj/../etc/f', 'pushd /tmp && tee f'], ['bash: cd * allow']],
  [
    'A52',
    'ask',
    [
      'cp f /tmp/x',
      'install f /tmp/x',
      'dd of=/tmp/x',
      'ln -s / l',
      'rsync f /tmp/',
      'tee /tmp/x',
      'tar -C / -xf a',
      'tar -C/ -xf a',
      'unzip -d / a',
    ],
    [
      'bash: cp * allow',
      'bash: install * allow',
      'bash: dd * allow',
      'bash: ln * allow',
      'bash: rsync * allow',
      'bash: tee * allow',
      'bash: tar * allow',
      'bash: unzip * allow',
    ],
  ],
  [
    'A53',
    'ask',
    ['find . -exec touch M \\;', 'find . -delete', 'find . -fprint M', 'find . -okdir x \\;', 'find . -files0-from f'],
    ['bash: find * allow'],
  ],
  ['A54', 'ask', ["sed -n '1w M' f", "sed '1e touch M' f", 'sed -i s/a/b/ f', "sed 's/x/touch M/e' f", 'sed -f s f']],
  [
    'A58',
    'ask',
    ['rg --pre ./pre x f', 'rg --pre=./pre x f', 'rg --hostname-bin ./x x', 'rg -z x f', 'rg -f /etc/passwd f'],
  ],
  ['A58', 'ask', ['rg --pre ./pre x f', 'rg -iz x f'], ['bash: rg * allow']],
  [
    'A60',
    'ask',
    ['env touch M', "env -S 'touch M'", 'env', 'nice -n 1 touch M'],
    ['bash: env * allow', 'bash: nice * allow'],
  ],
  [
    'A60',
    'ask',
    'nice nohup,timeout 1,stdbuf -o0,setsid,ionice,chrt 1,taskset 1,unshare,flock f,ssh h,sudo,doas,su -c,busybox,docker exec c'
      .split(',')
      .map((wrapper) => `${wrapper} touch M`),
  ],
  [
    'A61',
    'ask',
    [
      "git -c alias.z='!touch M' z",
      "git -c core.fsmonitor='touch M' status",
      'git --config-env a=b status',
      'git --exec-path=. status',
      'git -C /other status',
      'git --git-dir=x status',
    ],
  ],
  [
    'A62',
    'ask',
    [
      'git log --output=M -1',
      'git log --outp=M',
      'git diff --no-index --output=M a b',
      'git grep -Ovi x',
      'git log --ext-diff',
      'git show --textconv',
      'git branch -D x',
      'git remote add a b',
      "git archive --exec='x' a",
      'git bisect run x',
      'git rebase -x y',
      'git clone ext::x',
      'git submodule foreach x',
    ],
  ],
  ['A62', 'ask', ['git log --output=M -1', 'git log --outp=M', 'git log --ext-diff'], ['bash: git log * allow']],
  [
    'A65',
    'ask',
    [
      "man -P 'x' ls",
      'less +!x',
      "vim -c '!x'",
      'PAGER=x git log',
      'npm test',
      'npx x',
      'make',
      'python -c 1',
      'node -e 1',
      'perl -e 1',
      'go test -exec x',
      'cargo run',
      "bash -c 'touch M'",
      "bash <<< 'touch M'",
      'cat <<EOF | sh\nx\nEOF',
    ],
  ],
  [
    'A67',
    'ask',
    ['git -C . commit -m x', 'git --no-pager commit', 'cd . && git commit'],
    ['bash: git * allow', 'bash: git commit * ask'],
  ],
  [
    'C37',
    'allow',
    ['git status', 'git log "a; b"', "git log 'x && y'", "git commit -m '$(rm x)'"],
    ['bash: git * allow'],
  ],
  [
    'C37',
    'ask',
    ['git status && touch b', 'git status | sh', 'gitx status', '(git status)', 'git -C /a && x && git -C /a status'],
    ['bash: git * allow', 'bash: git -C * status allow'],
  ],
  ['C38', 'ask', ['git commit -m "$(touch x)"', "cat <<'EOF' | sh\nhi\nEOF"], ['bash: git * allow']],
  [
    'C39',
    'deny',
    [
      'git -C /r push',
      'cd r && git push',
      'X=1 git push',
      'env git push',
      'command git push',
      'timeout 5 git push',
      'nohup git push',
      '/usr/bin/git push',
      "bash -c 'git push'",
      'git  push',
      'git\tpush',
      '"git" push',
      'g\\it push',
      'xargs git push',
      'git push',
      'sudo -u x git push origin',
      'if true; then git push; fi',
    ],
    ['bash: * allow', 'bash: git push* deny'],
  ],
  ['C39', 'ask', ['LD_PRELOAD=./e.so git status'], ['bash: git * allow']],
  [
    'C40',
    'deny',
    [
      'echo x > /tmp/out.txt',
      'echo x >> ../out.txt',
      'printf x &> /tmp/o',
      'cat a >| /tmp/o',
      ': > ~/.rc',
      'tee /tmp/o <a',
    ],
    ['external_directory: * deny', 'bash: * allow'],
  ],
]

describe('the attack table', () => {
  for (const [id, expected, commands, extra] of rows) {
    test.each(commands.map((command) => [command]))(`${id}: %j comes out ${expected}`, (command) => {
      expect(decide(command, extra).action).toBe(expected)
    })
  }

  test('no row that asks is a plain read-only command, and headless each of them is denied', () => {
    for (const [, expected, commands, extra] of rows) {
      if (expected === 'allow') continue
      for (const command of commands) {
        expect([command, isPlainReadOnly(command, dir)]).toEqual([command, false])
        expect([command, decide(command, extra, 'deny').action]).toEqual([command, 'deny'])
      }
    }
  })

  test('deny rules hold in every mode', () => {
    for (const mode of ['ask', 'edits', 'allow', 'deny', 'strict'] as const) {
      expect(decide('ls && rm x', [], mode).action).toBe('deny')
    }
  })
})

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
    'cat ./f',
    'cat sub/../f',
  ])('%j is one', (command) => {
    expect(isPlainReadOnly(command, dir)).toBe(true)
    expect(decide(command).action).toBe('allow')
  })

  test.each([
    'cat *',
    'ls sub/*',
    'cat f?',
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
    'cat l/passwd',
    'cat dangling',
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
    'find .',
    'sort f',
    'env',
    'lsx',
    './ls',
    '/bin/ls',
    'LS',
    'ls;',
    'ls\nls',
    'echo $HOME',
    'echo a > b',
    'X=1',
    '',
    'cat "f',
    'echo "a\nb"',
  ])('%j is none', (command) => {
    expect(isPlainReadOnly(command, dir)).toBe(false)
  })

  test('a folder named like the beginning of another, and / itself, are no worktree of it', () => {
    expect(isPlainReadOnly(`cat ${base}/proj/f`, dir)).toBe(true)
    expect(isPlainReadOnly(`cat ${base}/proj-evil/f`, dir)).toBe(false)
    expect(isPlainReadOnly('cat etc/passwd', '/')).toBe(false)
  })

  test('a command in another folder is judged from there', () => {
    expect(isPlainReadOnly('cat ../f', dir, join(dir, 'sub'))).toBe(true)
    expect(isPlainReadOnly('cat ../../secret', dir, join(dir, 'sub'))).toBe(false)
    expect(isPlainReadOnly('ls', dir, base)).toBe(false)
  })

  test('git is not plain where the repository itself can make it run programs (A63)', () => {
    const evil = join(base, 'evil')
    mkdirSync(evil)
    const git = (...args: string[]) => execFileSync('git', args, { cwd: evil })
    git('init', '-q', '-b', 'main')
    expect(isPlainReadOnly('git status', evil)).toBe(true)
    git('config', 'core.fsmonitor', 'touch M')
    expect(isPlainReadOnly('git status', evil)).toBe(false)
    git('config', '--unset', 'core.fsmonitor')
    git('remote', 'add', 'origin', 'https://a.test/x.git')
    git('config', 'user.name', 'x')
    expect(isPlainReadOnly('git status', evil)).toBe(true)
    mkdirSync(join(evil, '.git/hooks'), { recursive: true })
    writeFileSync(join(evil, '.git/hooks/post-index-change'), '#!/bin/sh\n')
    chmodSync(join(evil, '.git/hooks/post-index-change'), 0o755)
    expect(isPlainReadOnly('git status', evil)).toBe(false)
  })

  test('git is not plain in a bare repository that lies about, nor with sub-modules', () => {
    const bare = join(base, 'bare')
    execFileSync('git', ['init', '-q', '--bare', bare])
    expect(isPlainReadOnly('git log', bare)).toBe(false)
    const parent = join(base, 'parent')
    mkdirSync(parent)
    const git = (...args: string[]) => execFileSync('git', args, { cwd: parent })
    git('init', '-q')
    expect(isPlainReadOnly('git status', parent)).toBe(true)
    git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`)
    expect(isPlainReadOnly('git status', parent)).toBe(false)
  })

  test('they read under the rules of reading', () => {
    const kept = ['read: **/f deny']
    expect(decide('cat f', kept).action).toBe('deny')
    expect(decide('cat ./sub/../f', kept).action).toBe('deny')
    expect(decide('cat sub/g', kept).action).toBe('allow')
    expect(decide('grep -r text .', kept).action).toBe('ask')
    expect(decide('git diff', kept).action).toBe('ask')
  })

  test('a person who wants to be asked of commands is asked of these as well', () => {
    expect(decide('pwd', ['bash: * ask']).action).toBe('ask')
    expect(decide('pwd', ['bash: * deny']).action).toBe('deny')
  })

  test('a rule with a star covers its own folder only, as the home folder is outside', () => {
    expect(decide('cat ~', ['bash: cat * allow']).action).toBe('ask')
    expect(decide(`cat ${homedir()}/x`, ['bash: cat * allow']).action).toBe('ask')
    expect(decide('cat /dev/null', ['bash: cat * allow']).action).toBe('allow')
  })
})
