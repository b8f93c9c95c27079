import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Finished, newHome, program, watch } from './cli-process.ts'
import type { Script } from './support/workplace.ts'

/** Programs that run at the same time, and programs that are told to stop. */
const team: Script = {
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        calls: ['a', 'b', 'c'].map((name) => ({
          tool: 'task',
          args: { agent: 'explorer', prompt: `read ${name}.txt for {{prompt}}`, background: true },
        })),
      },
    },
    {
      when: { agent: 'explorer', turn: 1, prompt: 'read (\\S+)' },
      reply: { calls: [{ tool: 'read', args: { file_path: '{{match.1}}' } }], delayMs: 50 },
    },
    { when: { agent: 'explorer' }, reply: { text: '{{prompt}}: {{last}}' } },
    { when: { agent: 'lead', results: 3 }, reply: { text: '{{results}}' } },
    { when: {}, reply: { text: 'waiting' } },
  ],
}

function newPlace(script: Script) {
  const home = newHome()
  for (const name of ['a', 'b', 'c']) home.put(`${name}.txt`, `text of ${name}\n`)
  const play = ['--model', `scripted:${home.put('s.yaml', JSON.stringify(script))}`]
  return { ...home, play }
}

const lastEvent = ({ stdout }: Finished) => JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')

describe('runs at the same time', () => {
  test('in one folder and one data folder: each gets its own results, all are listed', async () => {
    const { run, play } = newPlace(team)
    const names = ['one', 'two', 'three']
    const outcomes = await Promise.all(names.map((name) => run(['run', name, '--session', name, '--json', ...play])))
    for (const [index, outcome] of outcomes.entries()) {
      expect(outcome.code).toBe(0)
      const { text, jobs } = lastEvent(outcome)
      for (const file of ['a', 'b', 'c']) {
        expect(text).toContain(`read ${file}.txt for ${names[index]}: `)
        expect(text).toContain(`text of ${file}`)
      }
      expect(
        jobs.map(({ state, delivered }: { state: string; delivered: boolean }) => `${state} ${delivered}`),
      ).toEqual(Array(3).fill('completed true'))
      expect(outcome.stdout).not.toContain('worker.died')
    }
    const listed = JSON.parse((await run(['sessions', '--json'])).stdout)
    expect(listed.map(({ session }: { session: string }) => session).sort()).toEqual([...names].sort())
    expect(JSON.parse((await run(['jobs', '--json'])).stdout)).toHaveLength(9)
  })

  test('under one session id: one has it, the others are told who, and it is there once', async () => {
    const { run, play } = newPlace(team)
    const outcomes = await Promise.all([1, 2, 3].map((n) => run(['run', `from ${n}`, '--session', 'same', ...play])))
    const refused = outcomes.filter(({ code }) => code === 2)
    for (const { stdout, stderr } of refused) {
      expect(stdout).toBe('')
      expect(stderr).toMatch(/^troupe: The session is in use by process \d+\. .*\n$/)
    }
    expect(outcomes.filter(({ code }) => code === 0).length + refused.length).toBe(3)
    expect(outcomes.some(({ code }) => code === 0)).toBe(true)
    const shown = (await run(['show', 'same'])).stdout
    const prompts = outcomes.flatMap(({ code }, index) => (code === 0 ? [`from ${index + 1}`] : []))
    for (const prompt of prompts) expect(shown).toContain(`user\n  ${prompt}`)
    expect(shown.match(/^user$/gm)).toHaveLength(prompts.length)
  })
})

describe('a run that is told to stop', () => {
  /** The root waits for a child in the foreground, whose command starts another that leaves its group. */
  const busy: Script = {
    rules: [
      { when: { depth: 0, turn: 1 }, reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'deep' } }] } },
      {
        when: { depth: 1, turn: 1 },
        reply: {
          calls: [{ tool: 'bash', args: { command: 'setsid sleep 301 & echo $! > away; echo $$ > here; sleep 302' } }],
        },
      },
      { when: {}, reply: { text: 'came to its end' } },
    ],
  }

  async function startBusy() {
    const place = newPlace(busy)
    const running = place.start(['run', 'go', '--session', 'busy', '--permission', 'allow', ...place.play])
    const pids = await vi.waitFor(() => ['here', 'away'].map((name) => readPid(place.dir, name)), { timeout: 30_000 })
    expect(pids.map(isAlive)).toEqual([true, true])
    return { ...place, running, pids }
  }

  test.each([
    ['SIGTERM', ['SIGTERM']],
    ['SIGINT', ['SIGINT']],
    ['SIGINT twice', ['SIGINT', 'SIGINT']],
    ['SIGINT and SIGTERM', ['SIGINT', 'SIGTERM']],
  ] as const)('by %s ends with 130, leaves no process, and can go on', async (_how, signals) => {
    const { running, pids, run, put } = await startBusy()
    for (const signal of signals) {
      running.child.kill(signal)
      await pause(20)
    }
    const { code, stdout, stderr } = await running.finished
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(stderr).toMatch(/^Interrupted\. To go on: troupe resume busy$/m)
    expect(stderr).not.toMatch(/^ +at |Error/m)
    await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]), { timeout: 10_000 })
    put('s.yaml', JSON.stringify({ rules: [{ when: {}, reply: { text: 'went on' } }] }))
    expect(await run(['resume', 'busy'])).toMatchObject({ code: 0, stdout: 'went on\n' })
  })

  test('by kill -9 leaves no process, and what it did is told as interrupted', async () => {
    const { running, pids, run, play } = await startBusy()
    running.child.kill('SIGKILL')
    expect((await running.finished).code).toBeNull()
    await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]), { timeout: 10_000 })
    expect(await run(['resume', 'busy', '--permission', 'allow', ...play])).toMatchObject({
      code: 0,
      stdout: 'came to its end\n',
    })
    expect((await run(['show', 'busy-gen-1'])).stdout).toMatch(/interrupted while it ran/)
  })

  test('before it has found its model ends at once', async () => {
    const silent = createServer(() => {
      // Takes the request and never answers.
    })
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      silent.closeAllConnections()
      silent.close()
    })
    const address = silent.address()
    const port = typeof address === 'object' ? address?.port : 0
    const asked = new Promise((resolve) => silent.once('request', resolve))
    const { start } = newPlace(team)
    const running = start(['run', 'go', '--model', 'ollama/x'], { env: { OLLAMA_HOST: `127.0.0.1:${port}` } })
    await asked
    running.child.kill('SIGINT')
    expect(await running.finished).toMatchObject({ code: 130, stdout: '' })
  })
})

describe('a reader that goes', () => {
  test.each([
    ['the answer', 'run go'],
    ['a list', 'agents --json'],
    ['help', '--help'],
  ])('after the first line of %s leaves nothing on stderr', async (_what, args) => {
    const long = { rules: [{ when: {}, reply: { text: 'line\n'.repeat(50_000) } }] }
    const { dir, env, play } = newPlace(long)
    const model = args.startsWith('run') ? play.join(' ') : ''
    const command = `"${process.execPath}" "${program}" ${args} ${model} 2>err | head -n 1`
    const { code, stdout } = await watch(spawn('sh', ['-c', command], { cwd: dir, env })).finished
    expect(code).toBe(0)
    expect(stdout.split('\n')).toHaveLength(2)
    expect(readFileSync(join(dir, 'err'), 'utf8')).not.toMatch(/EPIPE|Error|^ +at /m)
  })
})

function readPid(dir: string, name: string): number {
  const path = join(dir, name)
  expect(existsSync(path)).toBe(true)
  const pid = Number(readFileSync(path, 'utf8'))
  expect(pid).toBeGreaterThan(0)
  return pid
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
