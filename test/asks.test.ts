import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { type AskAnswer, createTroupe, type PermissionAsk, type Troupe, type TroupeOptions } from '../src/index.ts'
import { checkInvariants } from './support/check-invariants.ts'
import { createStage, createWorkplace, ofType, type Script, type Workplace } from './support/workplace.ts'

const once: AskAnswer = { decision: 'once' }
const patient = { timeout: 30_000, interval: 10 }

/** Nobody is there to answer; the questions stay. */
const nobody: TroupeOptions = { onAsk: () => new Promise(() => undefined) }

const bash = (command: string) => ({ tool: 'bash', args: { command, description: command } })
const task = (prompt: string, background: boolean) => ({ tool: 'task', args: { agent: 'general', prompt, background } })

function untilAsked(troupe: Troupe, count: number): Promise<PermissionAsk[]> {
  return vi.waitFor(() => {
    const asks = troupe.asks()
    expect(asks).toHaveLength(count)
    return asks
  }, patient)
}

function ranIn({ dir }: Workplace): string[] {
  const path = join(dir, 'ran.txt')
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean).sort() : []
}

describe('questions while nobody answers', () => {
  /** Each of a chain of three asks; a fourth one, quick, needs the only place at the model server. */
  const chain: Script = {
    server: { parallel: 1 },
    rules: [
      { when: { depth: 0, turn: 1 }, reply: { calls: [task('d1', false), task('quick', true)] } },
      { when: { prompt: 'quick', depth: 1 }, reply: { text: 'quick one', delayMs: 300 } },
      { when: { depth: 1, turn: 1 }, reply: { calls: [task('d2', false), bash('echo 1 >> ran.txt')] } },
      { when: { depth: 2, turn: 1 }, reply: { calls: [task('d3', false), bash('echo 2 >> ran.txt')] } },
      { when: { depth: 3, turn: 1 }, reply: { calls: [bash('echo 3 >> ran.txt')] } },
      { when: { depth: 0, results: 1 }, reply: { text: 'end: {{results}}' } },
      { when: {}, reply: { text: 'depth over' } },
    ],
  }

  test('of three depths are kept and hold up nobody else; answered late, all goes on', async () => {
    const workplace = createWorkplace()
    const { troupe, events } = await createStage(workplace, chain, { ...nobody, config: { maxDepth: 3 }, workers: 1 })
    const run = troupe.run({ prompt: 'go' })
    const asks = await untilAsked(troupe, 3)
    expect(asks.map(({ depth }) => depth).sort()).toEqual([1, 2, 3])
    await vi.waitFor(() => expect(ofType(events, 'session.ended')).toHaveLength(1), patient)
    await vi.waitFor(() => expect(ofType(events, 'session.suspended').length).toBeGreaterThanOrEqual(4), patient)
    const told = events.length
    await pause(500)
    expect(events.slice(told)).toEqual([])
    expect(ranIn(workplace)).toEqual([])
    for (const depth of [1, 3, 2]) {
      const { id } = asks.find((ask) => ask.depth === depth) as PermissionAsk
      expect(troupe.answer(id, depth === 3 ? { decision: 'reject', text: 'no' } : once)).toBe('accepted')
    }
    const finished = await run.finished
    expect(finished).toMatchObject({ status: 'done', text: 'end: gen-2: quick one', denied: 0 })
    expect(ranIn(workplace)).toEqual(['1', '2'])
    expect(finished.jobs.map(({ state, delivered }) => `${state} ${delivered}`)).toEqual(
      Array(4).fill('completed true'),
    )
    await troupe.close()
    await checkInvariants({ dataDir: workplace.dataDir, root: run.session, pids: [process.pid], jobs: finished.jobs })
  })
})

describe('an answer', () => {
  const asking: Script = {
    rules: [
      { when: { depth: 0, turn: 1 }, reply: { calls: [task('ask', false)] } },
      { when: { depth: 1, turn: 1 }, reply: { calls: [bash('echo x >> ran.txt')] } },
      { when: {}, reply: { text: '{{last}}' } },
    ],
  }

  test('that comes second finds the question gone, whatever it says', async () => {
    const workplace = createWorkplace()
    const { troupe, events } = await createStage(workplace, asking, nobody)
    const run = troupe.run({ prompt: 'go' })
    const [ask] = await untilAsked(troupe, 1)
    const id = ask?.id as PermissionAsk['id']
    expect([once, { decision: 'reject' } as const, once].map((answer) => troupe.answer(id, answer))).toEqual([
      'accepted',
      'gone',
      'gone',
    ])
    expect((await run.finished).status).toBe('done')
    expect(troupe.answer(id, once)).toBe('gone')
    expect(ranIn(workplace)).toEqual(['x'])
    expect(ofType(events, 'permission.resolved')).toMatchObject([{ id, decision: 'once', by: 'person' }])
  })

  test('from two places at once counts once: the first one', async () => {
    const workplace = createWorkplace()
    let answerLate: (answer: AskAnswer) => void = () => undefined
    const onAsk = () => new Promise<AskAnswer>((resolve) => (answerLate = resolve))
    const { troupe, events } = await createStage(workplace, asking, { onAsk })
    const run = troupe.run({ prompt: 'go' })
    const [ask] = await untilAsked(troupe, 1)
    answerLate(once)
    expect(troupe.answer(ask?.id as PermissionAsk['id'], { decision: 'reject' })).toBe('accepted')
    expect((await run.finished).text).toContain('rejected')
    expect(ranIn(workplace)).toEqual([])
    expect(ofType(events, 'permission.resolved')).toHaveLength(1)
  })

  test('after a cancel finds the question gone, and nothing is run', async () => {
    const workplace = createWorkplace()
    const { troupe } = await createStage(workplace, asking, nobody)
    const run = troupe.run({ prompt: 'go' })
    const [ask] = await untilAsked(troupe, 1)
    const cancelled = run.cancel()
    expect(troupe.answer(ask?.id as PermissionAsk['id'], once)).toBe('gone')
    await cancelled
    expect((await run.finished).jobs).toMatchObject([{ state: 'cancelled' }])
    await troupe.close()
    expect(ranIn(workplace)).toEqual([])
    await checkInvariants({ dataDir: workplace.dataDir, root: run.session, pids: [process.pid] })
  })

  test('in the same moment as a cancel runs the command once or not at all', async () => {
    const workplace = createWorkplace()
    const { troupe } = await createStage(workplace, asking, nobody)
    const run = troupe.run({ prompt: 'go' })
    const [ask] = await untilAsked(troupe, 1)
    expect(troupe.answer(ask?.id as PermissionAsk['id'], once)).toBe('accepted')
    await run.cancel()
    const { jobs } = await run.finished
    await troupe.close()
    expect(ranIn(workplace).length).toBeLessThanOrEqual(1)
    await checkInvariants({ dataDir: workplace.dataDir, root: run.session, pids: [process.pid], jobs })
  })

  test('after a restart is taken under the same id, once', async () => {
    const workplace = createWorkplace()
    const model = `scripted:${workplace.script(asking)}`
    const { dir, dataDir, env } = workplace
    const first = await createTroupe({ dir, dataDir, env, model, ...nobody })
    const { session } = first.run({ prompt: 'go' })
    const [asked] = await untilAsked(first, 1)
    await first.close()
    const { troupe } = await createStage(workplace, model, nobody)
    const run = troupe.resume(session)
    const [ask] = await untilAsked(troupe, 1)
    expect(ask).toEqual(asked)
    expect(troupe.answer(ask?.id as PermissionAsk['id'], once)).toBe('accepted')
    expect(troupe.answer(ask?.id as PermissionAsk['id'], once)).toBe('gone')
    expect((await run.finished).status).toBe('done')
    expect(ranIn(workplace)).toEqual(['x'])
  })

  test.each([[undefined], [{ decision: 'maybe' }], ['once'], [null]])(
    'that is none (%o) is refused where it was given, and counts as a no where a question was put',
    async (given) => {
      const answer = given as AskAnswer
      const workplace = createWorkplace()
      const { troupe } = await createStage(workplace, asking, { ...nobody, host: 'inline' })
      const run = troupe.run({ prompt: 'go' })
      const [ask] = await untilAsked(troupe, 1)
      const id = ask?.id as PermissionAsk['id']
      expect(() => troupe.answer(id, answer)).toThrow('needs decision "once", "always" or "reject"')
      expect(troupe.answer(id, once)).toBe('accepted')
      expect((await run.finished).status).toBe('done')

      const other = await createStage(createWorkplace(), asking, { onAsk: async () => answer, host: 'inline' })
      expect((await other.play('go')).text).toContain('needs decision')
    },
  )

  test('with what cannot be stored beside it is stored without that', async () => {
    const cyclic: Record<string, unknown> = { decision: 'once' }
    cyclic.self = cyclic
    const workplace = createWorkplace()
    const onAsk = async () => cyclic as unknown as AskAnswer
    const { play } = await createStage(workplace, asking, { onAsk, host: 'inline' })
    expect((await play('go')).status).toBe('done')
    expect(ranIn(workplace)).toEqual(['x'])
  })
})

test('an "always" answers the pending questions that it matches, in its own tree, and no other', async () => {
  const commands = ['touch a', 'touch b', 'rm -f c', 'touch d && rm -f e']
  const script: Script = {
    rules: [
      { when: { depth: 0, turn: 1 }, reply: { calls: commands.map((command) => task(command, true)) } },
      { when: { depth: 1, turn: 1 }, reply: { calls: [bash('{{prompt}}')] } },
      { when: { depth: 0, results: 4 }, reply: { text: 'all' } },
      { when: {}, reply: { text: 'said' } },
    ],
  }
  const workplace = createWorkplace()
  const { troupe, events } = await createStage(workplace, script, nobody)
  const run = troupe.run({ prompt: 'go' })
  const other = troupe.run({ prompt: 'go', session: 'other' })
  const asks = await untilAsked(troupe, 8)
  const own = asks.filter(({ sessionId }) => !sessionId.startsWith('other'))
  const first = own.find(({ detail }) => detail.includes('touch a')) as PermissionAsk
  expect(troupe.answer(first.id, { decision: 'always' })).toBe('accepted')
  const left = troupe.asks()
  expect(left.filter(({ sessionId }) => sessionId.startsWith('other'))).toHaveLength(4)
  const leftHere = left.filter(({ sessionId }) => !sessionId.startsWith('other'))
  expect(leftHere.map(({ detail }) => detail).sort()).toEqual(['rm -f c', 'touch d && rm -f e'])
  expect(ofType(events, 'permission.resolved').map(({ by }) => by)).toEqual(['person', 'grant'])
  for (const { id } of left) troupe.answer(id, { decision: 'reject' })
  expect((await run.finished).status).toBe('done')
  expect((await other.finished).status).toBe('done')
})

test('the clock of a child stands still for a question that is put again after a restart', async () => {
  const script: Script = {
    rules: [
      {
        when: { depth: 0, turn: 1 },
        reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'x', timeout_ms: 2500 } }] },
      },
      { when: { depth: 1, turn: 1 }, reply: { calls: [bash('echo x >> ran.txt')] } },
      { when: {}, reply: { text: 'in time' } },
    ],
  }
  const workplace = createWorkplace()
  const model = `scripted:${workplace.script(script)}`
  const { dir, dataDir, env } = workplace
  const first = await createTroupe({ dir, dataDir, env, model, ...nobody })
  const { session } = first.run({ prompt: 'go' })
  await untilAsked(first, 1)
  await first.close()
  const { troupe } = await createStage(workplace, model, nobody)
  const run = troupe.resume(session)
  const [ask] = await untilAsked(troupe, 1)
  await pause(3000)
  expect(troupe.answer(ask?.id as PermissionAsk['id'], once)).toBe('accepted')
  expect((await run.finished).jobs).toMatchObject([{ state: 'completed' }])
})
