import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import type { Run, RuntimeEvent, Troupe } from '../src/index.ts'
import { checkInvariants } from './support/check-invariants.ts'
import { createStage, createWorkplace, ofType, type Script, type Stage } from './support/workplace.ts'

type Told = RuntimeEvent & { tool?: string }

/** Calls back once, while the event is being told. */
function when(troupe: Troupe, matches: (event: Told) => boolean, act: () => void): Promise<void> {
  return new Promise((resolve) => {
    const subscription = troupe.events.subscribe((event) => {
      if (!matches(event)) return
      subscription.unsubscribe()
      act()
      resolve()
    })
  })
}

const ofChild = ({ session, root }: RuntimeEvent) => session !== root

/** Nothing is told after the end, and the journals hold each end and each delivery once. */
async function expectSettled({ troupe, events }: Stage, run: Run, dataDir: string) {
  const finished = await run.finished
  const told = events.length
  await pause(200)
  expect(events.slice(told)).toEqual([])
  await troupe.close()
  await checkInvariants({ dataDir, root: run.session, pids: [process.pid], jobs: finished.jobs })
  return finished
}

const stubborn = { tool: 'bash', args: { command: `trap '' TERM; echo on; for n in $(seq 20); do sleep 1; done` } }
const background = (prompt: string, extra: object = {}) => ({
  tool: 'task',
  args: { agent: 'general', prompt, background: true, ...extra },
})
const isAtStubborn = (event: Told) => event.type === 'tool.started' && event.tool === 'bash'

describe('a run that is cancelled in the moment in which its child', () => {
  const script: Script = {
    rules: [
      { when: { depth: 0, turn: 1 }, reply: { calls: [background('A')] } },
      { when: { depth: 1, turn: 1 }, reply: { text: 'looking', calls: [{ tool: 'glob', args: { pattern: '*' } }] } },
      { when: { depth: 1 }, reply: { text: 'R' } },
      { when: { depth: 0, results: 1 }, reply: { text: 'got it' } },
      { when: {}, reply: { text: 'waiting' } },
    ],
  }
  const moments: RuntimeEvent['type'][] = [
    'session.created',
    'session.activated',
    'turn.started',
    'text.delta',
    'turn.ended',
    'tool.started',
    'tool.finished',
    'session.idle',
    'session.ended',
    'job.finished',
  ]

  for (const host of ['inline', 'threads'] as const) {
    test.each(moments)(`tells "%s" stores one end of it (${host})`, async (type) => {
      const workplace = createWorkplace()
      const stage = await createStage(workplace, script, { host })
      const { troupe, events } = stage
      const run = troupe.run({ prompt: 'go' })
      await when(
        troupe,
        (event) => event.type === type && ofChild(event),
        () => void run.cancel(),
      )
      const turns = ofType(events, 'turn.started').filter((event) => !ofChild(event)).length
      const finished = await expectSettled(stage, run, workplace.dataDir)
      expect(finished.status).toBe('interrupted')
      expect(ofType(events, 'session.ended').filter(ofChild)).toHaveLength(1)
      expect(ofType(events, 'turn.started').filter((event) => !ofChild(event))).toHaveLength(turns)
    })
  }
})

describe('stops that overlap', () => {
  test('a run that is cancelled while a turn of it is being stopped starts nothing more', async () => {
    const script: Script = {
      rules: [
        { when: { depth: 0, turn: 1 }, reply: { calls: [background('A'), stubborn] } },
        { when: { depth: 1 }, reply: { text: 'word '.repeat(400), chunkMs: 50 } },
        { when: {}, reply: { text: 'never' } },
      ],
    }
    const workplace = createWorkplace()
    const stage = await createStage(workplace, script, { permission: 'allow' })
    const run = stage.troupe.run({ prompt: 'go' })
    await when(stage.troupe, isAtStubborn, () => undefined)
    await pause(300)
    const stopped = run.interrupt()
    await pause(50)
    await Promise.all([stopped, run.cancel(), run.cancel()])
    const finished = await expectSettled(stage, run, workplace.dataDir)
    expect(finished).toMatchObject({ status: 'interrupted', jobs: [{ state: 'cancelled' }] })
  })

  test('a child that is being told something with interrupt does not outlive the cancel of its run', async () => {
    const script: Script = {
      rules: [
        { when: { depth: 0, turn: 1 }, reply: { calls: [background('A')] } },
        {
          when: { depth: 0, turn: 2 },
          reply: {
            delayMs: 800,
            calls: [{ tool: 'task_send', args: { job: 'gen-1', message: 'x', interrupt: true } }],
          },
        },
        { when: { depth: 1, turn: 1 }, reply: { calls: [stubborn] } },
        { when: {}, reply: { text: 'never' } },
      ],
    }
    const workplace = createWorkplace()
    const stage = await createStage(workplace, script, { permission: 'allow' })
    const run = stage.troupe.run({ prompt: 'go' })
    await when(
      stage.troupe,
      (event) => event.type === 'tool.started' && event.tool === 'task_send',
      () => undefined,
    )
    await pause(300)
    await run.cancel()
    const finished = await expectSettled(stage, run, workplace.dataDir)
    expect(finished).toMatchObject({ status: 'interrupted', jobs: [{ state: 'cancelled' }] })
  })

  test('a child whose time is over in the middle of a cancel ends once, and wakes nobody', async () => {
    const script: Script = {
      rules: [
        { when: { depth: 0, turn: 1 }, reply: { calls: [background('A', { timeout_ms: 1500 })] } },
        { when: { depth: 1 }, reply: { calls: [stubborn] } },
        { when: {}, reply: { text: 'waiting' } },
      ],
    }
    const workplace = createWorkplace()
    const stage = await createStage(workplace, script, { permission: 'allow' })
    const run = stage.troupe.run({ prompt: 'go' })
    await when(
      stage.troupe,
      ({ type }) => type === 'limit.reached',
      () => void setTimeout(() => void run.cancel(), 100),
    )
    const finished = await expectSettled(stage, run, workplace.dataDir)
    expect(finished.status).toBe('interrupted')
    expect(ofType(stage.events, 'session.ended')).toHaveLength(1)
  })

  test('a result that comes while a turn of its parent is being stopped is delivered afterwards', async () => {
    const script: Script = {
      rules: [
        { when: { depth: 0, turn: 1 }, reply: { calls: [background('A'), stubborn] } },
        { when: { depth: 1 }, reply: { text: 'R', delayMs: 1500 } },
        { when: { depth: 0, results: 1 }, reply: { text: 'got {{results}}' } },
        { when: {}, reply: { text: 'never' } },
      ],
    }
    const workplace = createWorkplace()
    const stage = await createStage(workplace, script, { permission: 'allow' })
    const { troupe, events } = stage
    const run = troupe.run({ prompt: 'go' })
    await when(troupe, isAtStubborn, () => undefined)
    await vi.waitFor(() => expect(ofType(events, 'turn.started').some(ofChild)).toBe(true), { timeout: 20_000 })
    await pause(700)
    await run.interrupt()
    const finished = await expectSettled(stage, run, workplace.dataDir)
    expect(finished).toMatchObject({ text: 'got gen-1: R', jobs: [{ state: 'completed', delivered: true }] })
  })

  test.each(['interrupt', 'cancel'] as const)(
    'a child that its parent cancels while the user stops that parent (%s) ends and counts once',
    async (how) => {
      const script: Script = {
        rules: [
          { when: { depth: 0, turn: 1 }, reply: { calls: [background('A')] } },
          {
            when: { depth: 0, turn: 2 },
            reply: { delayMs: 2500, calls: [{ tool: 'task_cancel', args: { job: 'gen-1' } }] },
          },
          { when: { depth: 1 }, reply: { calls: [stubborn] } },
          { when: {}, reply: { text: 'after: {{results}}' } },
        ],
      }
      const workplace = createWorkplace()
      const stage = await createStage(workplace, script, { permission: 'allow' })
      const run = stage.troupe.run({ prompt: 'go' })
      await when(
        stage.troupe,
        (event) => event.type === 'tool.started' && event.tool === 'task_cancel',
        () => undefined,
      )
      await pause(200)
      await run[how]()
      const finished = await expectSettled(stage, run, workplace.dataDir)
      expect(finished.jobs).toMatchObject([{ state: 'cancelled', delivered: how === 'interrupt' }])
      expect(ofType(stage.events, 'session.ended')).toHaveLength(1)
    },
  )

  test('a session that is being stopped launches nobody any more', async () => {
    const script: Script = {
      rules: [
        { when: { depth: 0, turn: 1 }, reply: { calls: [background('A')] } },
        { when: { depth: 1, turn: '<40' }, reply: { calls: [background('B'), background('C')] } },
        { when: {}, reply: { text: 'x', delayMs: 20 } },
      ],
    }
    for (let round = 0; round < 5; round += 1) {
      const workplace = createWorkplace()
      const stage = await createStage(workplace, script, { config: { maxDepth: 2 } })
      const run = stage.troupe.run({ prompt: 'go' })
      await vi.waitFor(() => expect(ofType(stage.events, 'job.launched').length).toBeGreaterThan(2 + round), {
        interval: 1,
        timeout: 20_000,
      })
      await run.cancel()
      const finished = await expectSettled(stage, run, workplace.dataDir)
      expect(finished.jobs.map(({ state }) => state)).not.toContain('running')
    }
  })
})
