import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type PermissionAsk, probeSandbox, type TroupeOptions } from '../src/index.ts'
import { findBubblewrap } from '../src/sandbox/find-bubblewrap.ts'
import { newHome, program } from './cli-process.ts'
import { createStage, createWorkplace, ofType, type Script, type Workplace } from './support/workplace.ts'

// What is asked where commands run in a sandbox, through the whole runtime.

const found = await probeSandbox()

const calling = (...commands: string[]): Script => ({
  rules: [
    { when: { turn: 1 }, reply: { calls: commands.map((command) => ({ tool: 'bash', args: { command } })) } },
    { when: {}, reply: { text: 'end' } },
  ],
})

/** Runs the commands of one turn; `yes`: a person is there, and says yes to all. */
async function ask(workplace: Workplace, commands: string[], yes: boolean, options: TroupeOptions = {}) {
  const asks: PermissionAsk[] = []
  const config = { sandbox: 'workspace-write', sandboxedCommands: 'allow', ...options.config } as const
  const person = async (ask: PermissionAsk) => {
    asks.push(ask)
    return { decision: 'once' } as const
  }
  const stage = await createStage(workplace, calling(...commands), {
    ...options,
    ...(yes && { onAsk: person }),
    config,
  })
  const finished = await stage.play('go')
  const refused = ofType(stage.events, 'tool.finished').filter(({ how }) => how === 'denied').length
  return { asks, denied: finished.denied, refused }
}

const commitAs = 'git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m second'

describe.skipIf('problem' in found)('where the user lets commands run in the sandbox', () => {
  test('those that stay inside run without a question, also when nobody could understand them', async () => {
    const workplace = createWorkplace()
    const { denied } = await ask(
      workplace,
      ['echo a > a.txt', 'eval "to""uch b.txt"', "python3 -c \"open('c.txt','w')\""],
      false,
    )
    expect(denied).toBe(0)
    expect(['a.txt', 'b.txt', 'c.txt'].filter((name) => existsSync(join(workplace.dir, name)))).toHaveLength(3)
  })

  test('those that lead outside, are denied by a rule or would change a protected file do not', async () => {
    const workplace = createWorkplace()
    const canary = join(workplace.dir, '../canary')
    const commands = [`touch ${canary}`, 'rm -rf .', 'echo x > .envrc', 'true; rm a']
    const { denied, refused } = await ask(workplace, commands, false, { deny: ['bash:rm *'] })
    expect({ denied, refused }).toEqual({ denied: 2, refused: 4 })
    expect([canary, join(workplace.dir, '.envrc')].filter((path) => existsSync(path))).toEqual([])
  })

  test('a yes makes the sandbox wider by what was asked', async () => {
    const workplace = createWorkplace({ a: '1' })
    const { dir } = workplace
    execFileSync('git', ['init', '-q'], { cwd: dir })
    let reached = 0
    const server = createServer((socket) => {
      reached++
      socket.end()
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as { port: number }
    const canary = join(dir, '../beside/canary')
    execFileSync('mkdir', [join(dir, '../beside')])
    const commands = [commitAs, `git ls-remote git://127.0.0.1:${port}/x`, `touch ${canary}`, 'echo x > .envrc']
    const { asks } = await ask(workplace, commands, true)
    expect(asks).toHaveLength(4)
    expect(execFileSync('git', ['log', '--format=%s'], { cwd: dir, encoding: 'utf8' })).toBe('second\n')
    expect(reached).toBeGreaterThan(0)
    expect(existsSync(canary)).toBe(true)
    expect(readFileSync(join(dir, '.envrc'), 'utf8')).toBe('x\n')
  })

  test('allowing everything allows nothing beyond the sandbox', async () => {
    const workplace = createWorkplace()
    execFileSync('git', ['init', '-q'], { cwd: workplace.dir })
    const canary = join(workplace.dir, '../canary')
    const { denied } = await ask(workplace, [commitAs, `touch ${canary}; touch inside`], false, { permission: 'allow' })
    expect(denied).toBe(0)
    expect(existsSync(canary)).toBe(false)
    expect(existsSync(join(workplace.dir, 'inside'))).toBe(true)
    expect(() => execFileSync('git', ['log'], { cwd: workplace.dir, stdio: 'pipe' })).toThrow()
  })

  test('a rule that names the command lets it do what it is about', async () => {
    const workplace = createWorkplace()
    execFileSync('git', ['init', '-q'], { cwd: workplace.dir })
    const { denied } = await ask(
      workplace,
      [commitAs.replace('git -c user.name=a -c user.email=a@example.org', 'git')],
      false,
      {
        allow: ['bash:git commit *'],
      },
    )
    expect(denied).toBe(0)
  })
})

test.skipIf('problem' in found)('without that, commands in a sandbox are asked about as ever', async () => {
  const workplace = createWorkplace()
  const config = { sandboxedCommands: 'ask' } as const
  expect((await ask(workplace, ['touch a'], false, { config })).denied).toBe(1)
  expect((await ask(workplace, ['touch a'], true, { config })).asks).toHaveLength(1)
  expect(existsSync(join(workplace.dir, 'a'))).toBe(true)
})

test.skipIf('problem' in found || process.getuid?.() !== 0)(
  'a sandbox that is asked for and missing: said loudly, and nothing runs unasked',
  async () => {
    const { dir, env, put } = newHome()
    const script = put(
      'script.yaml',
      'rules:\n  - when: { turn: 1 }\n    reply: { calls: [{ tool: bash, args: { command: ls } }] }\n  - when: {}\n    reply: { text: end }\n',
    )
    const flags = [
      '--sandbox',
      'workspace-write',
      '--permission',
      'allow',
      '--allow',
      'bash:ls',
      '--model',
      `scripted:${script}`,
    ]
    const hidden = `mount --bind /dev/null "$(readlink -f ${findBubblewrap()})" && exec "$0" "$@"`
    const args = ['-m', 'sh', '-c', hidden, process.execPath, program, 'run', 'go', ...flags]
    const child = spawn('unshare', args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let told = ''
    child.stderr.on('data', (data) => {
      told += String(data)
    })
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect(told).toMatch(/There is no sandbox: bubblewrap \(bwrap\) is not installed; install it/)
    expect(code).toBe(4)
  },
)
