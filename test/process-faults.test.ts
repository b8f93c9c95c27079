import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { createTroupe, type RuntimeEvent } from '../src/index.ts'
import { type Finished, newHome, type RunningCli } from './cli-process.ts'
import { chaosAnswer, chaosFiles, chaosScript } from './support/chaos-script.ts'
import { checkInvariants } from './support/check-invariants.ts'
import { chanceSeed, createRandom, isLongChaos } from './support/random.ts'

const session = 'faulty'

/** One session in a home of its own, and the programs that work on it. */
function createPlace(script: object) {
  const home = newHome()
  const dataDir = join(home.home, 'data')
  const env = { TROUPE_HOME: dataDir }
  const model = `scripted:${home.put('script.json.yaml', JSON.stringify(script))}`
  const shared = ['--json', '--permission', 'allow', '--model', model]
  const pids: number[] = []

  function start(args: string[]): RunningCli {
    const running = home.start([...args, ...shared], { env })
    pids.push(running.child.pid ?? 0)
    return running
  }

  return {
    ...home,
    dataDir,
    model,
    start: () => start(['run', 'go', '--session', session]),
    resume: () => start(['resume', session]).finished,
    check: (lastRun: Finished) =>
      checkInvariants({ dataDir, root: session, pids, jobs: eventsOf(lastRun.stdout).at(-1)?.jobs }),
  }
}

type Told = RuntimeEvent & { jobs?: { alias: string; generation: number; state: string; delivered: boolean }[] }

/** A program that was ended at once may leave half a line. */
function eventsOf(stdout: string): Told[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

const talk = (words: number, chunkMs: number) => ({ text: 'word '.repeat(words), chunkMs })
const task = { tool: 'task', args: { agent: 'general', prompt: 'talk', background: true } }

/** A child in the background talks, the root runs a command that heeds no TERM. */
const stubborn = {
  rules: [
    {
      when: { depth: 0, turn: 1 },
      reply: {
        calls: [
          task,
          { tool: 'bash', args: { command: `trap '' TERM; echo $$ > pid; for n in $(seq 20); do sleep 1; done` } },
        ],
      },
    },
    { when: { depth: 1, turn: 1 }, reply: talk(400, 20) },
    { when: {}, reply: { text: 'done' } },
  ],
}

const patient = { timeout: 30_000, interval: 20 }

/** The command runs and the child talks; returns the command's pid. */
async function untilAtWork(dir: string, { stdout }: RunningCli): Promise<number> {
  await vi.waitFor(() => expect(stdout()).toContain('text.delta'), patient)
  return vi.waitFor(() => {
    const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'))
    expect(pid).toBeGreaterThan(0)
    return pid
  }, patient)
}

async function expectGone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: 15_000, interval: 50 })
}

describe('a signal to a program without a terminal', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s ends all in good order', async (signal) => {
    const place = createPlace(stubborn)
    const running = place.start()
    const tool = await untilAtWork(place.dir, running)
    running.child.kill(signal)
    const finished = await running.finished
    expect(finished.code).toBe(130)
    expect(eventsOf(finished.stdout).at(-1)).toMatchObject({ type: 'run.finished', status: 'interrupted' })
    await expectGone(tool)
    await place.check(finished)
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('%s twice does not wait, and loses nothing', async (signal) => {
    const place = createPlace(stubborn)
    const running = place.start()
    const tool = await untilAtWork(place.dir, running)
    running.child.kill(signal)
    await pause(150)
    running.child.kill(signal)
    const { code, stdout } = await running.finished
    expect(code).toBe(130)
    expect(stdout).not.toContain('run.finished')
    await expectGone(tool)
    const resumed = await place.resume()
    expect(eventsOf(resumed.stdout).at(-1)).toMatchObject({ type: 'run.finished', status: 'done' })
    await place.check(resumed)
  })
})

test('a program that stands still for a while goes on as if nothing had been', async () => {
  const place = createPlace({
    rules: [
      { when: { depth: 0, turn: 1 }, reply: { calls: [task, task] } },
      { when: { depth: 1 }, reply: talk(60, 50) },
      { when: { depth: 0, results: 2 }, reply: { text: 'both' } },
      { when: {}, reply: { text: 'waiting' } },
    ],
  })
  mkdirSync(join(place.dataDir, 'config'), { recursive: true })
  writeFileSync(join(place.dataDir, 'config', 'config.yaml'), 'limits: { stallMs: 1500 }\n')
  const running = place.start()
  await vi.waitFor(() => expect(running.stdout()).toContain('text.delta'), patient)
  running.child.kill('SIGSTOP')
  await pause(5000)
  running.child.kill('SIGCONT')
  const finished = await running.finished
  const events = eventsOf(finished.stdout)
  expect(events.at(-1)).toMatchObject({ type: 'run.finished', status: 'done', text: 'both' })
  expect(events.filter(({ type }) => ['worker.died', 'session.restarted', 'limit.reached'].includes(type))).toEqual([])
  await place.check(finished)
})

describe('two programs and one session', () => {
  test('the second one is refused and names the first, whose lock counts for nothing when it is dead', async () => {
    const place = createPlace(stubborn)
    const running = place.start()
    await untilAtWork(place.dir, running)
    const second = await place.resume()
    expect(second).toMatchObject({ code: 2, stdout: '' })
    expect(second.stderr).toContain(`in use by process ${running.child.pid}`)
    running.child.kill('SIGKILL')
    await running.finished
    const third = await place.resume()
    expect(eventsOf(third.stdout).at(-1)).toMatchObject({ type: 'run.finished', status: 'done' })
    await place.check(third)
  })
})

describe('a newer version', () => {
  test.each([
    ['the root', `${session}.jsonl`],
    ['a child', `${session}-gen-1.jsonl`],
  ])('that wrote the journal of %s is refused, and nothing is touched', async (_, name) => {
    const place = createPlace(stubborn)
    const running = place.start()
    await untilAtWork(place.dir, running)
    running.child.kill('SIGKILL')
    await running.finished
    const folder = join(place.dataDir, 'sessions', session)
    rmSync(join(folder, 'lock'), { force: true })
    const path = join(folder, name)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"version":1', '"version":99'))
    const before = contentsOf(folder)
    const { code, stderr } = await place.resume()
    expect(code).toBe(2)
    expect(stderr).toMatch(/newer troupe.*Upgrade troupe/)
    expect(contentsOf(folder)).toEqual(before)
  })
})

function contentsOf(folder: string): Record<string, string> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'latin1')]))
}

const copies = isLongChaos ? 40 : 6

test(`copies of the data folder, made at ${copies} moments of a run, open and end as it does`, async () => {
  const seed = chanceSeed()
  const random = createRandom(seed)
  const place = createPlace(chaosScript)
  for (const [path, text] of Object.entries(chaosFiles)) place.put(path, text)
  mkdirSync(join(place.dataDir, 'config'), { recursive: true })
  writeFileSync(join(place.dataDir, 'config', 'config.yaml'), 'maxDepth: 3\n')
  const running = place.start()
  await vi.waitFor(() => expect(running.stdout()).toContain('turn.started'), patient)
  const made: string[] = []
  while (made.length < copies && running.child.exitCode === null) {
    await pause(random() * 250)
    const copy = join(place.home, `copy-${made.length}`)
    cpSync(place.dataDir, copy, { recursive: true })
    made.push(copy)
  }
  expect(eventsOf((await running.finished).stdout).at(-1)).toMatchObject({ status: 'done', text: chaosAnswer })
  for (const copy of made) {
    expectBeginnings(copy, place.dataDir)
    await goOnIn(copy, place).catch((thrown) => {
      throw new Error(`TROUPE_CHAOS_SEED=${seed}, ${copy}: ${thrown.message}`)
    })
  }
}, 300_000)

/** Whatever is in a copy is how the original begins. */
function expectBeginnings(copy: string, original: string): void {
  const folder = join('sessions', session)
  for (const name of readdirSync(join(copy, folder)).filter((file) => file.endsWith('.jsonl'))) {
    const whole = readFileSync(join(original, folder, name), 'utf8')
    expect(whole.startsWith(readFileSync(join(copy, folder, name), 'utf8'))).toBe(true)
  }
}

async function goOnIn(dataDir: string, { dir, home, model }: ReturnType<typeof createPlace>): Promise<void> {
  // A power loss comes with another boot: the lock of the copy is nobody's.
  rmSync(join(dataDir, 'sessions', session, 'lock'), { force: true })
  const env = { PATH: process.env.PATH, HOME: home }
  const config = { maxDepth: 3 }
  const troupe = await createTroupe({ dir, dataDir, env, model, permission: 'allow', host: 'inline', config })
  try {
    const { status, text, jobs } = await troupe.resume(session).finished
    expect({ status, text }).toEqual({ status: 'done', text: chaosAnswer })
    await troupe.close()
    await checkInvariants({ dataDir, root: session, pids: [process.pid], jobs })
  } finally {
    await troupe.close()
  }
}
