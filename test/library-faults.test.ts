import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkInvariants } from './support/check-invariants.ts'
import { createStage, createWorkplace, type Script } from './support/workplace.ts'

const program = join(import.meta.dirname, 'fixtures/programs/bad-listeners.mjs')

const script: Script = {
  rules: [
    {
      when: { depth: 0, turn: 1 },
      reply: { calls: [{ tool: 'task', args: { agent: 'explorer', prompt: 'look', background: true } }] },
    },
    { when: { depth: 1, turn: 1 }, reply: { calls: [{ tool: 'glob', args: { pattern: '*' } }] } },
    { when: { depth: 1 }, reply: { text: 'R' } },
    { when: { results: 1 }, reply: { text: '{{results}}' } },
    { when: {}, reply: { text: 'waiting' } },
  ],
}

function play(fault: string) {
  const workplace = createWorkplace()
  const model = `scripted:${workplace.script(script)}`
  const child = spawn(process.execPath, [program, fault, model, workplace.dir], { env: workplace.env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { out: '', err: '' }
  child.stdout.on('data', (text) => (output.out += text))
  child.stderr.on('data', (text) => (output.err += text))
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, ...output })),
  )
  return { workplace, model, ended, pid: child.pid ?? 0 }
}

describe('a listener of the program that uses the library', () => {
  test.each([
    ['throws', 'uncaught'],
    ['rejects', 'unhandled'],
  ])('that %s stops neither the runtime nor other listeners', async (fault, counted) => {
    const { ended, workplace, pid } = play(fault)
    const { code, out, err } = await ended
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const told = JSON.parse(out)
    expect(told).toMatchObject({ status: 'done', text: 'exp-1: R', jobs: 1, missed: 0 })
    expect(told[counted]).toBeGreaterThan(10)
    await checkInvariants({ dataDir: workplace.dataDir, root: 'faulty', pids: [pid] })
  })

  test('that throws where nobody minds ends the program, as Node does, and the session goes on where it was', async () => {
    const { ended, workplace, model, pid } = play('exits')
    const { code, err } = await ended
    expect(code).not.toBe(0)
    expect(err).toContain('the listener is broken')
    const { troupe } = await createStage(workplace, model)
    const finished = await troupe.run({ prompt: 'go', session: 'faulty' }).finished
    await troupe.close()
    expect(finished).toMatchObject({ status: 'done', text: 'exp-1: R' })
    await checkInvariants({ dataDir: workplace.dataDir, root: 'faulty', pids: [pid], jobs: finished.jobs })
  })
})

test('closing in the middle of a run, twice, ends quietly, and what was open goes on later', async () => {
  const workplace = createWorkplace()
  const model = `scripted:${workplace.script(script)}`
  const first = await createStage(workplace, model)
  const { session } = first.troupe.run({ prompt: 'go' })
  await new Promise<void>((resolve) =>
    first.troupe.events.subscribe(
      ({ type, root, session: one }) => type === 'turn.started' && one !== root && resolve(),
    ),
  )
  await Promise.all([first.troupe.close(), first.troupe.close()])
  await first.troupe.close()
  const { troupe } = await createStage(workplace, model)
  const finished = await troupe.resume(session).finished
  await troupe.close()
  expect(finished).toMatchObject({ status: 'done', text: 'exp-1: R' })
  await checkInvariants({ dataDir: workplace.dataDir, root: session, pids: [process.pid], jobs: finished.jobs })
})
