import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import type { CallId, SessionId } from '../src/core/ids.ts'
import type { ProcessOutcome, SandboxLeave } from '../src/core/messages.ts'
import type { SandboxSettings } from '../src/core/settings.ts'
import { createSandbox } from '../src/sandbox/create-sandbox.ts'
import { probeSandbox } from '../src/sandbox/probe-sandbox.ts'
import { createProcesses } from '../src/supervisor/processes.ts'

// Real commands in real sandboxes; where the machine has no bubblewrap that works there is nothing to show.

const found = await probeSandbox()
const processes = createProcesses()
afterAll(() => processes.close())

type Place = { dir: string; outside: string }

/** A worktree and a folder beside it, in a folder that is none of those a sandbox hides. */
function createPlace(): Place {
  const base = realpathSync(mkdtempSync(join(homedir(), '.troupe-sandbox-test-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const [dir, outside] = [join(base, 'work'), join(base, 'outside')]
  mkdirSync(dir)
  mkdirSync(outside)
  return { dir, outside }
}

let commands = 0

async function run(
  { dir }: Place,
  command: string,
  { leave, timeoutMs = 20_000, ...given }: Partial<SandboxSettings> & { leave?: SandboxLeave; timeoutMs?: number } = {},
): Promise<ProcessOutcome> {
  if (!('file' in found)) throw new Error(found.problem)
  const sandbox = createSandbox(found.file, { mode: 'workspace-write', network: false, ...given })
  const call = `c1.${++commands}` as CallId
  const spillPath = join(tmpdir(), 'troupe-never-spilled.txt')
  const env = { PATH: process.env.PATH!, HOME: homedir() }
  const fence = { session: 'tester' as SessionId, epoch: 1 }
  return processes.run({ ...fence, call, command, cwd: dir, timeoutMs, env, keepBytes: 10_000, spillPath }, () =>
    sandbox.enter({ dir, cwd: dir, ...(leave && { leave }) }),
  )
}

const inGit = ['-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'init.defaultBranch=main']

function repository({ dir }: Place): void {
  execFileSync('git', [...inGit, 'init', '-q'], { cwd: dir })
  execFileSync('git', [...inGit, 'commit', '-q', '--allow-empty', '-m', 'first'], { cwd: dir })
}

describe.skipIf('problem' in found)('a command in the sandbox', () => {
  test('writes in the worktree, and its exit code and output come back', async () => {
    const place = createPlace()
    const outcome = await run(place, 'echo made > made.txt; mkdir -p a/b; echo said; exit 3')
    expect(outcome).toMatchObject({ ended: 'exited', exitCode: 3, head: 'said\n', leftRunning: 0 })
    expect(readFileSync(join(place.dir, 'made.txt'), 'utf8')).toBe('made\n')
  })

  test('writes nowhere else: not beside the worktree, not through a link, not in the home, not in the system', async () => {
    const place = createPlace()
    symlinkSync(place.outside, join(place.dir, 'link'))
    const targets = [`${place.outside}/x`, 'link/x', '"$HOME/.troupe-canary"', '/usr/canary', '../x']
    await run(place, targets.map((target) => `touch ${target}`).join(';'))
    expect(readdirSync(place.outside)).toEqual([])
    expect(readdirSync(join(place.dir, '..')).sort()).toEqual(['outside', 'work'])
    expect(existsSync('/usr/canary')).toBe(false)
    expect(existsSync(join(homedir(), '.troupe-canary'))).toBe(false)
  })

  test('has a scratch folder of its own, which is no other program’s', async () => {
    const seen = mkdtempSync(join(tmpdir(), 'troupe-visible-'))
    onTestFinished(() => rmSync(seen, { recursive: true, force: true }))
    const outcome = await run(createPlace(), `ls -d ${seen} 2>&1; echo x > /tmp/own && cat /tmp/own`)
    expect(outcome.head).toMatch(/No such file[\s\S]*x\n$/)
    expect(existsSync('/tmp/own')).toBe(false)
  })

  test('writes nothing at all where only reading is allowed', async () => {
    const place = createPlace()
    writeFileSync(join(place.dir, 'there.txt'), 'kept\n')
    const outcome = await run(place, 'cat there.txt; echo x > there.txt; touch new', { mode: 'read-only' })
    expect(outcome.head).toMatch(/^kept\n/)
    expect(readdirSync(place.dir)).toEqual(['there.txt'])
    expect(readFileSync(join(place.dir, 'there.txt'), 'utf8')).toBe('kept\n')
  })
})

describe.skipIf('problem' in found)('protected files', () => {
  const attempts = [
    'mkdir -p .troupe/agents && echo x > .troupe/agents/evil.md',
    'mkdir -p .claude && echo x > .claude/settings.json',
    'echo x > troupe.yaml',
    'echo x > .envrc',
    'mkdir -p .vscode && echo x > .vscode/tasks.json',
    'mkdir -p .git/hooks && echo x > .git/hooks/pre-commit',
    'git config core.fsmonitor ./evil',
    'mv .git .old && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit',
    'mv .vscode .old && mkdir .vscode && echo x > .vscode/tasks.json',
    'rm -rf .troupe; mkdir .troupe && echo x > .troupe/config.json',
    'ln -sf /dev/null troupe.yaml && mv evil troupe.yaml',
    'echo /tmp > .git/commondir',
  ]

  test.each(attempts)('are not made or changed by: %s', async (command) => {
    const place = createPlace()
    repository(place)
    const before = execFileSync('git', ['config', '--local', '--list'], { cwd: place.dir, encoding: 'utf8' })
    await run(place, command)
    const made = ['.troupe', '.claude', '.vscode', 'troupe.yaml', '.envrc', '.mcp.json', '.old', '.git/commondir']
    expect(made.filter((name) => existsSync(join(place.dir, name)))).toEqual([])
    expect(existsSync(join(place.dir, '.git/hooks/pre-commit'))).toBe(false)
    expect(execFileSync('git', ['config', '--local', '--list'], { cwd: place.dir, encoding: 'utf8' })).toBe(before)
  })

  test('what guards missing ones is gone afterwards, also with commands side by side', async () => {
    const place = createPlace()
    await Promise.all([run(place, 'sleep 0.3'), run(place, 'echo x > .envrc'), run(place, 'true')])
    expect(readdirSync(place.dir)).toEqual([])
  })

  test('what guards missing ones is never committed', async () => {
    const place = createPlace()
    repository(place)
    writeFileSync(join(place.dir, 'mine'), '')
    await run(place, `git add -A && git ${inGit.join(' ')} commit -q -m second`, { leave: { git: true } })
    expect(execFileSync('git', ['ls-files'], { cwd: place.dir, encoding: 'utf8' })).toBe('mine\n')
  })

  test('git writes its own data once that was allowed, but neither hooks nor configuration', async () => {
    const place = createPlace()
    repository(place)
    const commit = `echo a > a && git add a && git ${inGit.join(' ')} commit -q -m second && git log --oneline | wc -l`
    expect((await run(place, commit)).head).toMatch(/Read-only file system/)
    expect((await run(place, commit, { leave: { git: true } })).head).toBe('2\n')
    await run(place, 'echo x > .git/hooks/pre-commit; git config core.fsmonitor ./evil', { leave: { git: true } })
    expect(existsSync(join(place.dir, '.git/hooks/pre-commit'))).toBe(false)
    expect(readFileSync(join(place.dir, '.git/config'), 'utf8')).not.toContain('evil')
  })
})

describe.skipIf('problem' in found)('ways out', () => {
  test('the network is off unless it was let on', async () => {
    const server = createServer((socket) => socket.end('reached\n')).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const connect = `node -e 'require("net").connect(${port},"127.0.0.1").on("error",(e)=>console.log(e.code)).pipe(process.stdout)'`
    const place = createPlace()
    expect((await run(place, connect)).head).not.toContain('reached')
    expect((await run(place, connect, { leave: { network: true } })).head).toBe('reached\n')
  })

  test('no socket of a program outside is there, wherever it lies', async () => {
    const place = createPlace()
    const path = join(place.outside, 'daemon.sock')
    const server = createServer((socket) => socket.end('reached\n')).listen(path)
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const connect = `node -e 'require("net").connect("${path}").on("error",(e)=>console.log(e.code)).pipe(process.stdout)'`
    expect((await run(place, connect)).head).toMatch(/^E[A-Z]+\n$/)
    expect((await run(place, connect, { leave: { network: true } })).head).toMatch(/^E[A-Z]+\n$/)
  })

  test('no rights, no namespaces, no other processes, no keys of the user', async () => {
    const tries = [
      'mount -o remount,bind,rw / && echo REMOUNTED',
      'unshare -U true && echo NESTED',
      'bwrap --ro-bind / / true && echo NESTED',
      'ls /proc | grep -c "^[0-9]*$"',
      'ls -A ~/.ssh ~/.gnupg 2>/dev/null | grep -v : | grep . && echo KEYS',
    ]
    const outcome = await run(createPlace(), `(${tries.join('; ')}) 2>/dev/null`)
    expect(outcome.head).not.toMatch(/REMOUNTED|NESTED|KEYS/)
    expect(Number(/^\d+$/m.exec(outcome.head)?.[0])).toBeLessThan(10)
  })

  test('what left the session ends with the command', async () => {
    const place = createPlace()
    const outcome = await run(place, 'setsid sh -c "sleep 2; touch late" & sleep 60', { timeoutMs: 500 })
    expect(outcome).toMatchObject({ ended: 'timed-out' })
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect(existsSync(join(place.dir, 'late'))).toBe(false)
  })
})

test('without bubblewrap, or with one that anybody may change, there is none, and it is said how to get it', async () => {
  const { dir } = createPlace()
  expect(await probeSandbox([dir])).toEqual({ problem: expect.stringContaining('install it') })
  writeFileSync(join(dir, 'bwrap'), '#!/bin/sh\nexec "$@"\n', { mode: 0o777 })
  execFileSync('chmod', ['777', join(dir, 'bwrap')])
  expect(await probeSandbox([dir])).toEqual({ problem: expect.stringContaining('not installed') })
})
