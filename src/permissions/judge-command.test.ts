import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Rule } from '../core/permission.ts'
import { createDecider } from './decide.ts'
import { defaultRules } from './default-rules.ts'
import { loadShellParser } from './shell/load-shell-parser.ts'

let dir: string
beforeAll(async () => {
  await loadShellParser()
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-judge-')))
  for (const name of ['f', 'push', 'package.json']) writeFileSync(join(dir, name), 'text\n')
  symlinkSync('/etc', join(dir, 'l'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

function decide(command: string, rules: Rule[], grants: Rule[] = []) {
  const settings = { permissionMode: 'ask' as const, rules: [...defaultRules, ...rules] }
  return createDecider({ settings, agentRules: [], grants, dir, agentMayLoosen: true })({
    key: 'bash',
    pattern: command,
  })
}

const rule = (pattern: string, action: Rule['action']): Rule => ({ key: 'bash', pattern, action, source: 'user' })

describe('a denied command is not allowed by another spelling', () => {
  test.each([
    'git p*sh',
    'git pus?',
    'setpriv --reuid 1 git push',
    'systemd-run git push',
    'fakeroot git push',
    'tmux new git push',
    'npx git push',
    'npm exec git push',
    'uv run git push',
    'ash -c "git push"',
  ])('%j', (command) => {
    expect(decide(command, [rule('*', 'allow'), rule('git push*', 'deny')]).action).toBe('deny')
  })

  test('a glob is what it becomes: other files are other words', () => {
    expect(decide('git f*', [rule('*', 'allow'), rule('git push*', 'deny')]).action).toBe('allow')
  })
})

describe('always to a gentle use does not answer for', () => {
  test.each([
    ['tree -C', 'tree -o M', 'tree -L 1'],
    ['tree -C', 'tree -R -L 1 -H .', 'tree -d'],
    ['uniq --group f', 'uniq f M', 'uniq -c f'],
    ['file -L f', 'file -C -m f', 'file -b f'],
    ['date --rfc-email', 'date -s 2020-01-01', 'date -u'],
    ['date --rfc-email', 'date 010100002020', 'date +%F'],
    ['git branch x', 'git branch -D x', 'git branch y'],
    ['git tag x', 'git tag --delete x', 'git tag y'],
    ['git stash', 'git stash drop', 'git stash pop'],
    ['git switch x', 'git switch --discard-changes x', 'git switch y'],
    ['npm test', 'npm test --script-shell=./x', 'npm test -- a'],
    ['npm test', 'npm test --node-options --require=./x', 'npm test a'],
    ['cargo test', 'cargo test --config x', 'cargo test a'],
    ['cp f g', 'cp f package.json', 'cp f h'],
    ['cp f g', 'cp -tl f', 'cp -p f h'],
    ['cp f g', 'cp -t.git/hooks f', 'cp -r f h'],
  ])('%j: %j, but for %j', (given, harmful, harmless) => {
    const { grant } = decide(given, [])
    expect(decide(harmless, [], [grant!]).action).toBe('allow')
    expect(decide(harmful, [], [grant!]).action).toBe('ask')
  })

  test('a rule that a person wrote covers what it names', () => {
    expect(decide('git branch -D x', [rule('git *', 'allow')]).action).toBe('allow')
    expect(decide('git add package.json', [rule('git *', 'allow')]).action).toBe('allow')
  })
})
