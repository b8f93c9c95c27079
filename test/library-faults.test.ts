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

describe('what is said to a run that is over', () => {
  const rules = [
    { when: { text: 'more' }, reply: { text: 'heard more' } },
    { when: {}, reply: { text: 'hello' } },
  ]

  test('is refused with the way to go on, and wakes nobody', async () => {
    const { troupe, events } = await createStage(createWorkplace(), { rules })
    const run = troupe.run({ prompt: 'go' })
    await run.finished
    const told = events.length
    const over = expect.objectContaining({
      code: 'run-over',
      message: expect.stringContaining(`troupe.run({ session: '${run.session}'`),
    })
    expect(() => run.send('more')).toThrow(over)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(events).toHaveLength(told)
    const next = troupe.run({ prompt: 'more', session: run.session })
    expect(() => run.send('more')).toThrow(over)
    expect(await next.finished).toMatchObject({ status: 'done', text: 'heard more' })
  })

  test('is refused from the moment that it was cancelled, and once the runtime is closed', async () => {
    const { troupe } = await createStage(createWorkplace(), {
      rules: [{ when: {}, reply: { text: 'x', delayMs: 60_000 } }],
    })
    const run = troupe.run({ prompt: 'go' })
    await run.cancel()
    expect(() => run.send('more')).toThrow(expect.objectContaining({ code: 'run-over' }))
    expect((await run.finished).status).toBe('interrupted')
    const other = troupe.run({ prompt: 'go' })
    await troupe.close()
    expect(() => other.send('more')).toThrow(expect.objectContaining({ code: 'run-over' }))
  })
})

describe('a configuration given in code', () => {
  const open = (config: object) => createStage(createWorkplace(), { rules: [] }, { config })

  test.each([
    [{ workers: 0 }, /^The configuration given in code: "workers": /],
    [{ limits: { maxTurns: '3' } }, /"limits.maxTurns": /],
    [{ limits: { maxturns: 3 } }, /"limits.maxturns" is no setting. Known: .*maxTurns/],
    [{ toolset: 'tiny' }, /"toolset": /],
    [{ nosuch: true }, /"nosuch" is no setting. Known: /],
    [{ servers: { ollama: { slots: 0 } } }, /"servers.ollama.slots": /],
    [{ permission: { bash: { 'ls *': 'perhaps' } } }, /"permission.bash.*": /],
  ])('that says %j is refused by field', async (config, message) => {
    await expect(open(config)).rejects.toMatchObject({ code: 'bad-config', message: expect.stringMatching(message) })
  })

  test('leaves what it does not name, and what is undefined, to the files', async () => {
    const workplace = createWorkplace()
    workplace.write('troupe.yaml', 'maxDepth: 2\ndenyAtDepth: [webfetch]\n')
    const { troupe } = await createStage(workplace, { rules: [] }, { trust: true, config: { maxDepth: undefined } })
    expect(troupe.tools('general', 1).map(({ name }) => name)).not.toContain('webfetch')
  })
})
