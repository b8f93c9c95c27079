import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { JournalRecord } from '../src/index.ts'
import { createStage, createWorkplace, type Script } from './support/workplace.ts'

// What the rules keep from being read reaches no session, whichever tool or command is tried.

const commands = [
  'cat secret.txt',
  'head -1 s*',
  'cat sub/../secret.txt',
  'cat sub/up/secret.txt',
  'cat link.txt',
  'grep -r CANARY .',
  'rg CANARY',
  'git show HEAD:secret.txt',
  'git diff',
  'git log -p',
  'git diff HEAD -- secret.txt',
  'cat < secret.txt',
  'while IFS= read -r l; do echo $l; done < secret.txt',
  'awk 1 secret.txt',
  'git grep CANARY',
  'find . -name "secret*" -exec cat {} +',
  'echo $(<secret.txt)',
  'cat $(echo secret.txt)',
  'cat secret.tx?',
  'cat s""ecret.txt',
  'base64 secret.txt',
  'git archive HEAD',
  'git stash show -p',
  'diff secret.txt pub.txt',
  'git diff --no-index /dev/null secret.txt',
  'git log -L1,1:secret.txt',
  'file -f secret.txt',
  'wc --files0-from=secret.txt',
]

const calls = [
  ...commands.map((command) => ({ tool: 'bash', args: { command } })),
  ...['secret.txt', 'link.txt', 'sub/up/secret.txt'].map((file_path) => ({ tool: 'read', args: { file_path } })),
  { tool: 'grep', args: { pattern: 'CANARY' } },
  ...['secret.txt', 'link.txt', 'sub/up'].map((path) => ({ tool: 'grep', args: { pattern: 'CANARY', path } })),
  { tool: 'edit', args: { file_path: 'secret.txt', old_string: 'CANARX-9\nzz', new_string: 'y' } },
  { tool: 'edit', args: { file_path: 'link.txt', old_string: 'CANARY', new_string: 'y' } },
  { tool: 'task', args: { agent: 'explorer', prompt: 'p', context: ['secret.txt', 'link.txt'] } },
]

test.each(['full', 'compact'] as const)(
  'no content of a file that may not be read is in any answer (%s)',
  async (toolset) => {
    const workplace = createWorkplace({
      'secret.txt': 'CANARY-9\nCANARY-9 again\n',
      'pub.txt': 'a CANARY\n',
      'sub/a': '',
    })
    const { dir, dataDir } = workplace
    symlinkSync('secret.txt', join(dir, 'link.txt'))
    symlinkSync('..', join(dir, 'sub/up'))
    const asSomebody = ['-c', 'user.name=a', '-c', 'user.email=a@example.org']
    for (const args of [
      ['init', '-q'],
      ['add', '-A'],
      [...asSomebody, 'commit', '-qm', 'x'],
    ]) {
      execFileSync('git', args, { cwd: dir })
    }
    workplace.write('secret.txt', 'CANARY-9 changed\nCANARY-9 again\n')
    const script: Script = {
      rules: [
        { when: { depth: 0, turn: 1 }, reply: { calls } },
        { when: {}, reply: { text: 'end' } },
      ],
    }
    const stage = await createStage(workplace, script, {
      deny: ['read:secret*'],
      allow: ['edit:*'],
      config: { toolset },
    })
    expect((await stage.play('go')).status).toBe('done')
    const answers = journalsIn(dataDir).flatMap((record) =>
      record.type === 'call.finished' ? record.result.output : [],
    )
    expect(answers.length).toBeGreaterThanOrEqual(calls.length)
    expect(answers.filter((text) => text.includes('CANARY-9'))).toEqual([])
    // The file that may be read is still found.
    expect(answers.some((text) => text.includes('pub.txt:1: a CANARY'))).toBe(true)
  },
)

function journalsIn(dataDir: string): JournalRecord[] {
  const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'))
  const lines = files.flatMap((name) => readFileSync(join(dataDir, name), 'utf8').split('\n').filter(Boolean))
  return lines.map((line) => JSON.parse(line))
}
