import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { RuntimeEvent, TroupeOptions } from '../src/index.ts'
import { checkInvariants } from './support/check-invariants.ts'
import { createStage, createWorkplace, ofType, type Script, type Workplace } from './support/workplace.ts'

const misbehaves = resolve(import.meta.dirname, 'fixtures/workers/misbehaves.mjs')

/** `lead` sends `bad`, which opens the trap, and others which do no harm; all of them share one thread. */
function treeWith(trap: string, others: { prompt: string; reply: object }[], badAgent = 'explorer'): Script {
  const send = (agent: string, prompt: string) => ({ tool: 'task', args: { agent, prompt, background: true } })
  return {
    rules: [
      {
        when: { agent: 'lead', turn: 1 },
        reply: { calls: [...others.map(({ prompt }) => send('general', prompt)), send(badAgent, 'bad')] },
      },
      {
        when: { prompt: '^bad$', turn: 1 },
        reply: { delayMs: 300, calls: [{ tool: 'read', args: { file_path: trap } }] },
      },
      { when: { prompt: '^bad$' }, reply: { delayMs: 700, text: 'recovered' } },
      ...others.map(({ prompt, reply }) => ({ when: { prompt: `^${prompt}$`, turn: 1 }, reply })),
      { when: { agent: 'general' }, reply: { text: 'fine: {{last}}' } },
      { when: { agent: 'lead', results: others.length + 1 }, reply: { text: '{{results}}' } },
      { when: { agent: 'lead' }, reply: { text: 'waiting' } },
    ],
  }
}

const streams = { prompt: 'stream', reply: { text: 'word '.repeat(60), chunkMs: 30 } }

async function play(workplace: Workplace, script: Script, options: TroupeOptions = {}) {
  const settings = { workers: 1, permission: 'allow' as const, ...options }
  const { troupe, events } = await createStage(workplace, script, settings, { workerFile: misbehaves })
  const run = troupe.run({ prompt: 'go', agent: 'lead' })
  const finished = await run.finished
  await troupe.close()
  await checkInvariants({ dataDir: workplace.dataDir, root: run.session, jobs: finished.jobs })
  return { finished, events, session: run.session, restarted: restartedAliases(events) }
}

function restartedAliases(events: RuntimeEvent[]): string[] {
  return ofType(events, 'session.restarted').map(({ session }) => session.replace(/^[^-]+-?/, ''))
}

describe('a session that takes its worker with it', () => {
  const ways = {
    loop: 'its event loop was blocked for',
    spawn: 'its event loop was blocked for',
    exit7: 'it exited with code 7',
    exit0: 'it exited with code 0',
    reject: 'rejected by nobody',
  }
  for (const [kind, reason] of Object.entries(ways)) {
    test(`by ${kind} is started again; the one that shared the thread resumes without a restart`, async () => {
      const workplace = createWorkplace({ [`trap.${kind}`]: '1' })
      const { finished, events, restarted } = await play(workplace, treeWith(`trap.${kind}`, [streams]))
      expect(finished.status).toBe('done')
      expect(finished.text).toContain('exp-1: recovered')
      expect(finished.text).toContain('gen-1: word')
      expect(restarted).toEqual(['exp-1'])
      expect(ofType(events, 'worker.died')).toMatchObject([{ error: { code: 'worker-died' } }])
      expect(ofType(events, 'worker.died')[0]?.error.message).toContain(reason)
      expect(ofType(events, 'worker.died')[0]?.sessions).toHaveLength(2)
      expect(ofType(events, 'result.delivered')).toHaveLength(2)
    })
  }

  test('again and again ends as failed, and its parent is told how often and why', async () => {
    const workplace = createWorkplace({ 'trap.exit7': 'always' })
    const { finished, events, restarted } = await play(workplace, treeWith('trap.exit7', [streams]))
    expect(finished.status).toBe('done')
    expect(finished.text).toContain('gen-1: word')
    expect(finished.text).toMatch(
      /exp-1: .*crashed 4 times within 60 s, and 3 restarts are allowed.*exited with code 7/,
    )
    expect(restarted).toEqual(['exp-1', 'exp-1', 'exp-1'])
    // After the first death it had a worker of its own.
    expect(ofType(events, 'worker.died').map(({ sessions }) => sessions.length)).toEqual([2, 1, 1, 1])
    expect(finished.jobs.map(({ alias, state, delivered }) => [alias, state, delivered])).toEqual([
      ['gen-1', 'completed', true],
      ['exp-1', 'failed', true],
    ])
  })

  test('is not started again if its agent is temporary', async () => {
    const workplace = createWorkplace({ 'trap.exit7': 'always' })
    const agents = [
      { name: 'brief', prompt: 'p', mode: 'subagent' as const, restart: { restart: 'temporary' as const } },
    ]
    const { finished, restarted } = await play(workplace, treeWith('trap.exit7', [streams], 'brief'), { agents })
    expect(finished.text).toContain('gen-1: word')
    expect(finished.text).toMatch(/bri-1: .*not restarted \(restart: temporary\).*exited with code 7/)
    expect(restarted).toEqual([])
  })

  test('does not touch a command that runs outside the worker', async () => {
    const workplace = createWorkplace({ 'trap.exit7': '1' })
    const command = 'echo begun; sleep 2; echo ran >> marks; echo through'
    const bash = { prompt: 'bash', reply: { calls: [{ tool: 'bash', args: { command } }] } }
    const { finished, events } = await play(workplace, treeWith('trap.exit7', [bash]))
    expect(ofType(events, 'worker.died')[0]?.sessions).toHaveLength(2)
    expect(finished.text).toContain('gen-1: fine: begun\nthrough')
    expect(readFileSync(join(workplace.dir, 'marks'), 'utf8')).toBe('ran\n')
  })
})

describe('a death that nobody can be named for', () => {
  const smallHeap = { config: { workerMemoryMb: 96 } }
  const others = Array.from({ length: 6 }, (_, n) => ({ ...streams, prompt: `stream ${n}` }))

  test('(heap) sets at most four apart, each alone, until the culprit shows itself', async () => {
    const workplace = createWorkplace({ 'trap.hoard': '2'.padEnd(3_000_000) })
    const { finished, events, restarted, session } = await play(workplace, treeWith('trap.hoard', others), smallHeap)
    expect(finished.text).toContain('exp-1: recovered')
    expect(finished.jobs.every(({ state }) => state === 'completed')).toBe(true)
    const [first, second] = ofType(events, 'worker.died')
    expect(first?.error.message).toMatch(/it ran out of memory.*\(workerMemoryMb is 96\)/)
    expect(first?.sessions).toHaveLength(7)
    expect(second?.sessions).toEqual([`${session}-exp-1`])
    expect(restarted).toEqual(['exp-1'])
    expect(aloneAfter(events, first?.seq ?? 0)).toBeLessThanOrEqual(5)
  })

  // The file was read before the worker died, so nothing goes wrong a second time.
  const late = { buffers: /it held \d+ MB outside its heap/, throw: /thrown by a timer/ }
  for (const [kind, reason] of Object.entries(late)) {
    test(`(${kind}) sets at most four apart, and counts as a restart for none of them`, async () => {
      const workplace = createWorkplace({ [`trap.${kind}`]: '1' })
      const { finished, events, restarted } = await play(workplace, treeWith(`trap.${kind}`, others), smallHeap)
      expect(finished.jobs.every(({ state }) => state === 'completed')).toBe(true)
      const deaths = ofType(events, 'worker.died')
      expect(deaths).toHaveLength(1)
      expect(deaths[0]?.error.message).toMatch(reason)
      expect(restarted).toEqual([])
      expect(aloneAfter(events, deaths[0]?.seq ?? 0)).toBe(4)
    })
  }
})

/** How many activations after this event had a worker that nobody else was ever on. */
function aloneAfter(events: RuntimeEvent[], seq: number): number {
  const activations = ofType(events, 'session.activated')
  const crowd = (worker?: string) => activations.filter((one) => one.worker === worker).length
  return activations.filter((one) => one.seq > seq && crowd(one.worker) === 1).length
}

test('siblings that crash together never start again in the same instant', async () => {
  const names = Array.from({ length: 6 }, (_, n) => `trap.exit7.${n}`)
  const workplace = createWorkplace(Object.fromEntries(names.map((name) => [name, '1'])))
  const others = names.map((name, n) => ({
    prompt: `reader ${n}`,
    reply: { calls: [{ tool: 'read', args: { file_path: name } }] },
  }))
  const { finished, events } = await play(workplace, treeWith('nothing.txt', others), {
    config: { isolatedWorkers: 8 },
  })
  expect(finished.jobs.every(({ state }) => state === 'completed')).toBe(true)
  const buckets = ofType(events, 'session.restarted').map(({ at }) => Math.floor(at / 50))
  expect(buckets).toHaveLength(6)
  expect(new Set(buckets).size).toBe(6)
})

test('a call that was writing in the worker counts as interrupted and does not run again', async () => {
  const workplace = createWorkplace({ 'trap.exit7': 'always' })
  // It is prepared by a look at the file; the second look is for the write itself.
  const edit = { file_path: 'trap.exit7', old_string: 'always', new_string: 'never' }
  const script = {
    rules: [
      { when: { turn: 1 }, reply: { calls: [{ tool: 'edit', args: edit }] } },
      { when: {}, reply: { text: '{{last}}' } },
    ],
  }
  workplace.write('trap.exit7', '1')
  const { finished, events } = await play(workplace, script)
  expect(ofType(events, 'tool.finished').map(({ how }) => how)).toEqual(['interrupted'])
  expect(finished.text).toContain('its effect is unknown')
  expect(readFileSync(join(workplace.dir, 'trap.exit7'), 'utf8')).toBe('1')
})
