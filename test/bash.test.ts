import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createToolWorld } from '../src/tools/testing/tool-world.ts'
import { createCommandRunner } from './support/command-runner.ts'

// The bash tool over real processes: the cases C14 to C24 that users of other runtimes reported.

const { service, bash } = createCommandRunner()

describe('what is left in the background does not hold the call (C14)', () => {
  test.each([
    ['with the output', 'sleep 300 & echo done', 'done\n[1 background process left running was ended]'],
    ['without it', 'sleep 300 </dev/null >/dev/null 2>&1 & echo done', /^done\n\[1 background/],
    [
      'writing on',
      '(while :; do echo tick; sleep 0.05; done) & sleep 0.2; echo fg',
      /fg\n[\s\S]*left running were ended\]$/,
    ],
  ])('%s', async (_, command, output) => {
    const result = await bash(command)
    expect(result).toMatchObject({ isError: false, metadata: { exitCode: 0, signal: null } })
    expect(result.output).toMatch(output)
  })
})

describe('a time limit is a hard bound (C16, C17, C18)', () => {
  test('output until then is kept, and the result says so as an error', async () => {
    const result = await bash({ command: 'echo CHECKPOINT-1; sleep 300', timeout_ms: 1000 })
    expect(result.output).toBe('CHECKPOINT-1\n[timed out after 1000 ms; output so far is above]')
    expect(result.isError).toBe(true)
  })

  test('the runtime is still there afterwards', async () => {
    expect((await bash({ command: 'sleep 300', timeout_ms: 300 })).isError).toBe(true)
    expect((await bash('kill -TERM 0')).output).toBe('(no output)\n[killed by signal SIGTERM]')
    expect((await bash('echo alive')).output).toBe('alive\n')
  })

  test('cancelling answers the call only when the process is gone', async () => {
    const world = await createToolWorld()
    const controller = new AbortController()
    const command = "trap 'sleep 0.5; touch cleaned; exit' TERM; touch begun; while :; do sleep 0.05; done"
    const services = { runProcess: service() }
    const result = world.result('bash', { command }, { services, signal: controller.signal })
    while (!existsSync(join(world.dir, 'begun'))) await sleep(20)
    controller.abort(new DOMException('stop', 'AbortError'))
    expect(await result).toMatchObject({ how: 'cancelled', isError: true })
    expect(existsSync(join(world.dir, 'cleaned'))).toBe(true)
  })
})

describe('commands that ask for input do not wait (C19)', () => {
  test('there is none', async () => {
    expect((await bash('cat; echo rc=$?')).output).toBe('rc=0\n')
    expect((await bash('read -r a; echo "[$a] rc=$?"')).output).toBe('[] rc=1\n')
    expect((await bash('echo x > /dev/tty')).output).toMatch(/\[exit code: [12]\]$/)
  })

  test('no editor, pager or password prompt is opened', async () => {
    const names = 'echo "$GIT_TERMINAL_PROMPT|$GIT_EDITOR|$PAGER|$TERM"'
    expect((await bash(names)).output).toBe('0|true|cat|dumb\n')
    const result = await bash('touch a && git init -q . && git add -A && git commit')
    expect(result.output).toMatch(/\[exit code: \d+\]$/)
  })
})

describe('huge output (C21)', () => {
  test('is cut to the limit, keeps its last line and names the file with the whole', async () => {
    const result = await bash('seq 1 100000')
    expect(result.output.length).toBeLessThanOrEqual(30_000)
    expect(result.output).toMatch(/^1\n2\n/)
    expect(result.output).toMatch(/\n100000\n$/)
    expect(result.output).toContain(`bytes truncated; full output: ${result.spilled} ] ...`)
    expect(readFileSync(result.spilled!, 'utf8').split('\n')).toHaveLength(100_001)
  })

  test('of 200 MB ends well', async () => {
    const result = await bash('yes | head -c 200000000')
    expect(result.metadata).toMatchObject({ exitCode: 0 })
    expect(result.output.length).toBeLessThanOrEqual(30_000)
    expect(result.output).toMatch(/\[1\d{8} bytes truncated; first \d+ bytes: /)
  })

  test('of exactly the limit is whole', async () => {
    const result = await bash('yes | head -c 30000')
    expect(result.output).toBe('y\n'.repeat(15_000))
  })

  test('is counted in characters, whatever they take in bytes', async () => {
    const result = await bash('yes 日本語日本語日本語 | head -n 2900')
    expect(result.output).toBe('日本語日本語日本語\n'.repeat(2900))
  })

  test('is told with its exit code in the compact toolset', async () => {
    const world = await createToolWorld()
    const options = { toolset: 'compact' as const, services: { runProcess: service(process.env, 'compact') } }
    const result = await world.result('shell', { command: 'seq 1 100000; exit 4' }, options)
    expect(result.output.length).toBeGreaterThan(19_900)
    expect(result.output).toMatch(/^1\n2\n[\s\S]*\.\.\.\[truncated\]\n\[exit code: 4\]$/)
    expect(result.output.length).toBeLessThanOrEqual(20_000)
  })
})

describe('the folder of a command (C24)', () => {
  test('is the workspace, whatever PWD says', async () => {
    const world = await createToolWorld()
    const result = await bash('pwd', world, { services: { runProcess: service({ ...process.env, PWD: '/' }) } })
    expect(result.output).toBe(`${world.dir}\n`)
  })

  test('is the one that was asked for', async () => {
    const world = await createToolWorld()
    mkdirSync(join(world.dir, 'sub'))
    expect((await bash({ command: 'pwd', cwd: 'sub' }, world)).output).toBe(`${world.dir}/sub\n`)
    expect(world.asked).toEqual([{ key: 'bash', pattern: 'pwd', cwd: join(world.dir, 'sub') }])
  })

  test('that does not exist is an error, and the command does not run elsewhere', async () => {
    const world = await createToolWorld()
    await world.write('file', '')
    const missing = await bash({ command: 'touch ran', cwd: 'sub' }, world)
    expect(missing).toMatchObject({ isError: true, output: expect.stringContaining('no folder sub') })
    expect(await bash({ command: 'touch ran', cwd: 'file' }, world)).toMatchObject({ isError: true })
    expect(await world.exists('ran')).toBe(false)
  })

  test('outside of the workspace is put to the permissions as such', async () => {
    const world = await createToolWorld()
    await bash({ command: 'pwd', cwd: '/' }, world)
    expect(world.asked).toEqual([{ key: 'bash', pattern: 'pwd', cwd: '/', outside: '/' }])
  })
})

test('an ask shows the whole command, and what it is for', async () => {
  const world = await createToolWorld()
  const decide = () => ({ action: 'ask' as const, reason: '' })
  const command = 'make build\nmake test'
  const outcome = await world.call('bash', { command, description: 'Build and test' }, { decide })
  expect(outcome).toMatchObject({
    type: 'ask',
    ask: { kind: 'shell', title: 'Build and test', detail: command, key: 'bash', pattern: command },
  })
})

test('a command sees no keys of ours', async () => {
  const env = { ...process.env, OPENAI_API_KEY: 'sk-1', NODE_OPTIONS: '--no-warnings', MY_SETTING: 'kept' }
  const result = await bash('echo "$OPENAI_API_KEY|$NODE_OPTIONS|$MY_SETTING"', undefined, {
    services: { runProcess: service(env) },
  })
  expect(result.output).toBe('||kept\n')
})
