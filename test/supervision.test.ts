import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { RuntimeEvent, TroupeOptions } from '../src/index.ts'
import { newHome } from './cli-process.ts'
import { checkInvariants } from './support/check-invariants.ts'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

const workers = (name: string) => resolve(import.meta.dirname, 'fixtures/workers', name)
type Agents = NonNullable<TroupeOptions['agents']>

const background = (agent: string, prompt: string) => ({ tool: 'task', args: { agent, prompt, background: true } })

describe('an agent with isolation: thread', () => {
  const agents: Agents = [{ name: 'hermit', prompt: 'p', mode: 'subagent', isolation: 'thread' }]
  const script = (count: number, reply: object) => ({
    rules: [
      {
        when: { agent: 'lead', turn: 1 },
        reply: { calls: Array.from({ length: count }, (_, n) => background('hermit', `h${n}`)) },
      },
      { when: { agent: 'hermit', turn: 1 }, reply },
      { when: { agent: 'hermit' }, reply: { text: 'recovered' } },
      { when: { agent: 'lead', results: count }, reply: { text: '{{results}}' } },
      { when: { agent: 'lead' }, reply: { text: 'waiting' } },
    ],
  })

  test('runs each session on a worker of its own, which a death does not share', async () => {
    const workplace = createWorkplace({ 'trap.exit7': '1' })
    const calls = [{ tool: 'read', args: { file_path: 'trap.exit7' } }]
    const { play, events } = await createStage(
      workplace,
      script(3, { delayMs: 300, calls }),
      { agents },
      {
        workerFile: workers('misbehaves.mjs'),
      },
    )
    const finished = await play('go')
    expect(finished.jobs.map(({ state }) => state)).toEqual(['completed', 'completed', 'completed'])
    const used = ofType(events, 'session.activated').map(({ worker }) => worker)
    const hermits = ofType(events, 'session.activated').filter(({ session, root }) => session !== root)
    for (const { worker } of hermits) expect(used.filter((other) => other === worker)).toHaveLength(1)
    expect(ofType(events, 'worker.died').map(({ sessions }) => sessions.length)).toEqual([1])
  })

  test('waits for its turn when all such workers are taken', async () => {
    const options = { agents, config: { isolatedWorkers: 1 } }
    const { play, events } = await createStage(createWorkplace(), script(3, { text: 'done', delayMs: 50 }), options)
    const finished = await play('go')
    expect(finished.text.split('\n')).toHaveLength(3)
    const steps = events.filter(
      ({ type, session, root }) => session !== root && ['session.activated', 'session.idle'].includes(type),
    )
    expect(steps.map(({ type }) => type)).toEqual(Array(3).fill(['session.activated', 'session.idle']).flat())
  })
})

describe('restart: permanent', () => {
  const agents: Agents = [
    {
      name: 'stubborn',
      prompt: 'p',
      mode: 'subagent',
      restart: { restart: 'permanent', maxRestarts: 2, periodMs: 60_000 },
    },
  ]
  const script = (rules: object[]) => ({
    rules: [
      {
        when: { agent: 'lead', turn: 1 },
        reply: { calls: [{ tool: 'task', args: { agent: 'stubborn', prompt: 'x' } }] },
      },
      { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
      ...rules,
    ],
  })
  const refuses = { reply: { fault: { status: 401 } } }

  test('asks again for a turn that the model could not answer, under its number', async () => {
    const rules = [
      { when: { agent: 'stubborn', turn: 1, attempt: 1 }, ...refuses },
      { when: { agent: 'stubborn', turn: 1, attempt: 2 }, reply: { text: 'at last' } },
    ]
    const { play, events } = await createStage(createWorkplace(), script(rules), { agents })
    expect((await play('go')).text).toBe('at last')
    expect(ofType(events, 'session.restarted')).toMatchObject([{ restarts: 1 }])
  })

  test('gives up after its restarts and says why', async () => {
    const rules = [{ when: { agent: 'stubborn' }, ...refuses }]
    const { play, events } = await createStage(createWorkplace(), script(rules), { agents })
    expect((await play('go')).text).toContain(
      'It crashed 3 times within 60 s, and 2 restarts are allowed in that time.',
    )
    expect(ofType(events, 'session.restarted')).toHaveLength(2)
  })

  test('is not the default: such a session fails at once', async () => {
    const rules = [{ when: { agent: 'explorer' }, ...refuses }]
    const sends = { tool: 'task', args: { agent: 'explorer', prompt: 'x' } }
    const first = { when: { agent: 'lead', turn: 1 }, reply: { calls: [sends] } }
    const { play, events } = await createStage(createWorkplace(), {
      rules: [first, { when: { agent: 'lead' }, reply: { text: '{{last}}' } }, ...rules],
    })
    expect((await play('go')).text).toContain('The sub-agent failed')
    expect(ofType(events, 'session.restarted')).toEqual([])
  })
})

describe('a main thread that stands still', () => {
  test('takes no worker for dead, and gets a flood of deltas merged', async () => {
    const text = 'word '.repeat(4000)
    const { troupe, events } = await createStage(createWorkplace(), {
      rules: [{ when: {}, reply: { text, chunkMs: 1 } }],
    })
    const run = troupe.run({ prompt: 'go' })
    await seen(troupe, events, ({ type }) => type === 'text.delta')
    const before = ofType(events, 'text.delta').length
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4000)
    const finished = await run.finished
    expect(finished.text).toBe(text)
    expect(ofType(events, 'worker.died')).toEqual([])
    expect(ofType(events, 'session.restarted')).toEqual([])
    const deltas = ofType(events, 'text.delta')
    expect(deltas.map((delta) => delta.text).join('')).toBe(text)
    expect(Math.max(...deltas.slice(before).map((delta) => delta.text.length))).toBeGreaterThan(1000)
  })

  test('because the whole program was suspended goes on where it was', async () => {
    const home = newHome()
    const script = home.put(
      'script.yaml',
      `rules: [{ when: {}, reply: { text: "${'word '.repeat(60)}", chunkMs: 50 } }]`,
    )
    const running = home.start(['run', 'go', '--model', `scripted:${script}`, '--json'])
    while (!running.stdout().includes('text.delta')) await pause(20)
    running.child.kill('SIGSTOP')
    await pause(4000)
    running.child.kill('SIGCONT')
    const { code, stdout } = await running.finished
    expect(code).toBe(0)
    expect(stdout).not.toMatch(/worker\.died|session\.restarted/)
    expect(stdout).toContain('run.finished')
  })
})

test('what a thread sends for an activation that is over changes nothing', async () => {
  const workplace = createWorkplace({ 'a.txt': 'a', 'b.txt': 'b' })
  const read = (file_path: string) => ({ tool: 'read', args: { file_path } })
  const script = {
    rules: [
      { when: { text: 'second' }, reply: { calls: [read('b.txt')] } },
      { when: { turn: 1 }, reply: { calls: [read('a.txt')] } },
      { when: {}, reply: { text: 'done' } },
    ],
  }
  const { troupe } = await createStage(workplace, script, {}, { workerFile: workers('repeats-itself.mjs') })
  const { session, finished } = troupe.run({ prompt: 'first' })
  await finished
  expect((await troupe.run({ prompt: 'second', session }).finished).status).toBe('done')
  await troupe.close()
  await checkInvariants({ dataDir: workplace.dataDir, root: session })
  const types = readFileSync(join(workplace.dataDir, 'sessions', session, `${session}.jsonl`), 'utf8').match(
    /"type":"(turn\.started|assistant\.message|call\.finished)"/g,
  )
  expect(types).toHaveLength(10)
})

test('a worker whose activation ignores that it is cancelled is replaced, and the session goes on', async () => {
  const workplace = createWorkplace({ 'trap.stuck': 'always'.padEnd(3_000_000) })
  const script = {
    rules: [
      { when: { text: 'again' }, reply: { text: 'went on' } },
      { when: {}, reply: { calls: [{ tool: 'read', args: { file_path: 'trap.stuck' } }] } },
    ],
  }
  const { troupe, events } = await createStage(
    workplace,
    script,
    { workers: 1 },
    { workerFile: workers('misbehaves.mjs') },
  )
  const run = troupe.run({ prompt: 'go' })
  await seen(troupe, events, ({ type }) => type === 'tool.started')
  await run.interrupt()
  expect((await run.finished).status).toBe('interrupted')
  expect((await troupe.run({ prompt: 'again', session: run.session }).finished).text).toBe('went on')
  expect(new Set(ofType(events, 'session.activated').map(({ worker }) => worker)).size).toBe(2)
})

describe('a worker program', () => {
  const script = { rules: [{ when: {}, reply: { text: 'hello' } }] }
  const agents: Agents = [{ name: 'once', prompt: 'p', mode: 'primary', restart: { restart: 'temporary' } }]

  test('that starts late is waited for', async () => {
    const { play } = await createStage(createWorkplace(), script, {}, { workerFile: workers('starts-late.mjs') })
    expect((await play('go')).text).toBe('hello')
  })

  const broken = { 'throws-at-import.mjs': 'broken on purpose', 'missing.mjs': 'missing.mjs' }
  for (const [file, reason] of Object.entries(broken)) {
    test(`that cannot be started (${file}) fails the session with the reason`, async () => {
      const { play, events } = await createStage(createWorkplace(), script, { agents }, { workerFile: workers(file) })
      const finished = await play('go', 'once')
      expect(finished.status).toBe('failed')
      expect(finished.error?.message).toContain(`it could not start: `)
      expect(finished.error?.message).toContain(reason)
      expect(ofType(events, 'worker.died')).toHaveLength(1)
    })
  }

  test('that dies at each start is tried four times by default', async () => {
    const { play, events } = await createStage(createWorkplace(), script, {}, { workerFile: workers('missing.mjs') })
    const finished = await play('go')
    expect(finished.status).toBe('failed')
    expect(ofType(events, 'worker.died')).toHaveLength(4)
    expect(ofType(events, 'session.restarted').map(({ restarts }) => restarts)).toEqual([1, 2, 3])
  })
})

function seen(
  troupe: { events: { subscribe(listener: (event: RuntimeEvent) => void): unknown } },
  events: RuntimeEvent[],
  matches: (event: RuntimeEvent) => boolean,
): Promise<void> {
  if (events.some(matches)) return Promise.resolve()
  return new Promise((resolve) => troupe.events.subscribe((event) => matches(event) && resolve()))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
