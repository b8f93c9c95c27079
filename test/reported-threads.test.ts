import { spawn } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { MessageChannel } from 'node:worker_threads'
import { expose, releaseProxy, wrap } from 'comlink'
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs'
import { describe, expect, test } from 'vitest'
import { type AskAnswer, createTroupe, type RuntimeEvent, type Troupe } from '../src/index.ts'
import { keepErrorsWhole } from '../src/workers/comlink-errors.ts'
import { watch } from './cli-process.ts'
import { createStage, createWorkplace, ofType, type Script } from './support/workplace.ts'

/** Faults that users of other programs reported with threads, C77 to C83, as far as no other test has them. */
describe('an error that crosses threads (C77)', () => {
  class PermissionDenied extends Error {
    override name = 'PermissionDenied'
    code = 'E_PERM'
    retryable = false
  }

  async function crossing(
    thrown: unknown,
  ): Promise<Error & { code?: string; cause?: Error; [field: string]: unknown }> {
    keepErrorsWhole()
    const { port1, port2 } = new MessageChannel()
    const fail = () => {
      throw thrown
    }
    expose({ fail }, nodeEndpoint(port1))
    const remote = wrap<{ fail(): void }>(nodeEndpoint(port2))
    try {
      return await Promise.resolve(remote.fail()).then(
        () => expect.fail('nothing was thrown'),
        (error) => error,
      )
    } finally {
      remote[releaseProxy]()
      port1.close()
      port2.close()
    }
  }

  test('keeps name, message, code, fields, cause and where it was thrown', async () => {
    const thrown = new PermissionDenied('no entry', { cause: new TypeError('inner') })
    const error = await crossing(thrown)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'PermissionDenied', message: 'no entry', code: 'E_PERM', retryable: false })
    expect(error.stack).toContain('reported-threads.test.ts')
    expect(error.cause).toMatchObject({ name: 'TypeError', message: 'inner' })
  })

  test('arrives without what cannot be sent: functions, cycles, big numbers', async () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    const error = await crossing(Object.assign(new Error('still here'), { undo: () => 1, cycle, big: 1n, n: 7 }))
    expect(error).toMatchObject({ message: 'still here', n: 7 })
    expect(error).not.toHaveProperty('cycle')
    expect(error).not.toHaveProperty('big')
    expect(typeof error.undo).not.toBe('function')
  })

  test('whose causes go round in a circle arrives', async () => {
    const outer = new Error('outer')
    const inner = new Error('inner', { cause: outer })
    outer.cause = inner
    expect((await crossing(outer)).message).toBe('outer')
  })

  test.each(['a string', null, undefined, 7, { plain: 'object' }])(
    '%j thrown instead of one arrives as an error',
    async (thrown) => {
      const error = await crossing(thrown)
      expect(error).toBeInstanceOf(Error)
      expect(typeof error.message).toBe('string')
    },
  )
})

describe('a value that no thread can be sent (C79)', () => {
  const once: Script = { rules: [{ when: {}, reply: { text: 'said' } }] }

  test.each<[string, object]>([
    ['in options of an agent', { options: { stop: () => true } }],
    ['as a prompt', { prompt: () => 'You help.' }],
    ['as a tool', { tools: [{ name: 'mine', run() {} }] }],
  ])('%s is refused when it is given, by name', async (_where, fields) => {
    const workplace = createWorkplace()
    const { dir, dataDir, env } = workplace
    const agent = { name: 'odd', description: 'd', prompt: 'p', ...fields }
    const made = createTroupe({
      dir,
      dataDir,
      env,
      model: `scripted:${workplace.script(once)}`,
      agents: [agent as never],
    })
    await expect(made).rejects.toMatchObject({
      code: expect.stringMatching(/^bad-/),
      message: expect.stringContaining('odd'),
    })
  })

  test.each<[string, () => Promise<AskAnswer>]>([
    ['throws', () => Promise.reject(new Error('the dialog broke'))],
    [
      'throws at once',
      () => {
        throw new Error('the dialog broke')
      },
    ],
    ['answers with nothing', async () => undefined as never],
    ['answers with something else', async () => ({ decision: 'perhaps' }) as never],
    ['answers with a function', async () => ({ decision: 'reject', text: () => 'no' }) as never],
  ])('one who is asked and %s has said no: the run ends', async (_what, onAsk) => {
    const script: Script = {
      rules: [
        { when: { turn: 1 }, reply: { calls: [{ tool: 'bash', args: { command: 'touch made' } }] } },
        { when: {}, reply: { text: '{{last}}' } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script, { onAsk })
    const finished = await play('go')
    expect(finished.status).toBe('done')
    expect(finished.text).not.toMatch(/exit code 0/)
    expect(finished.text).toMatch(/\S/)
  })
})

describe('a cancel (C80, C81)', () => {
  const slow: Script = {
    rules: [
      { when: { text: 'slow' }, reply: { text: 'never', delayMs: 60_000 } },
      { when: {}, reply: { text: 'said' } },
    ],
  }

  test('before anything ran starts nothing', async () => {
    const { troupe, events } = await createStage(createWorkplace(), slow)
    const run = troupe.run({ prompt: 'slow' })
    await run.cancel()
    expect((await run.finished).status).toBe('interrupted')
    expect(ofType(events, 'message.added').filter(({ role }) => role === 'assistant')).toEqual([])
    expect(await troupe.run({ prompt: 'go', session: run.session }).finished).toMatchObject({ status: 'done' })
  })

  test('after the end changes nothing', async () => {
    const { troupe, events } = await createStage(createWorkplace(), slow)
    const run = troupe.run({ prompt: 'go' })
    const finished = await run.finished
    const told = events.length
    await run.cancel()
    await run.interrupt()
    expect(finished.status).toBe('done')
    expect(events.slice(told)).toEqual([])
    expect(await troupe.run({ prompt: 'again', session: run.session }).finished).toMatchObject({
      status: 'done',
      text: 'said',
    })
  })

  test('of one session leaves its neighbours on the thread alone', async () => {
    const { troupe, events } = await createStage(createWorkplace(), slow, { workers: 1 })
    const cancelled = troupe.run({ prompt: 'slow' })
    const other = troupe.run({ prompt: 'slow too' })
    const third = troupe.run({ prompt: 'go' })
    await until(troupe, events, () => ofType(events, 'turn.started').length === 3)
    await cancelled.cancel()
    expect((await cancelled.finished).status).toBe('interrupted')
    expect((await third.finished).text).toBe('said')
    other.send('go on')
    await other.interrupt()
    expect(ofType(events, 'worker.died')).toEqual([])
    expect(ofType(events, 'session.restarted')).toEqual([])
    expect(new Set(ofType(events, 'session.activated').map(({ worker }) => worker)).size).toBe(1)
    await other.cancel()
    await other.finished
  })
})

describe('what is left over (C83)', () => {
  const many = (children: number): Script => ({
    rules: [
      {
        when: { agent: 'lead', turn: 1 },
        reply: {
          calls: Array.from({ length: children }, () => ({
            tool: 'task',
            args: { agent: 'explorer', prompt: 'look', background: true },
          })),
        },
      },
      { when: { agent: 'explorer', turn: 1 }, reply: { calls: [{ tool: 'glob', args: { pattern: '*' } }] } },
      { when: { agent: 'explorer' }, reply: { text: 'R' } },
      { when: { agent: 'lead', results: children }, reply: { text: 'all' } },
      { when: {}, reply: { text: 'waiting' } },
    ],
  })

  const openPorts = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length

  test('of 1,000 children no port stays open', async () => {
    const before = openPorts()
    const { troupe, play } = await createStage(createWorkplace(), many(250))
    await play('first')
    const after = openPorts()
    for (let round = 1; round < 4; round += 1) {
      const { status, jobs } = await play('go')
      expect(status).toBe('done')
      expect(jobs.filter(({ state, delivered }) => state === 'completed' && delivered)).toHaveLength(250)
    }
    expect(openPorts()).toBe(after)
    await troupe.close()
    expect(openPorts()).toBe(before)
  }, 240_000)

  test('of a program that closes its runtime nothing: it ends by itself', async () => {
    const workplace = createWorkplace()
    const index = pathToFileURL(fileURLToPath(new URL('../dist/index.js', import.meta.url))).href
    const { dir, dataDir, env } = workplace
    const options = { dir, dataDir, model: `scripted:${workplace.script(many(5))}` }
    const program = `
      const { createTroupe } = await import(${JSON.stringify(index)})
      for (let round = 0; round < 3; round += 1) {
        const troupe = await createTroupe(${JSON.stringify(options)})
        const { status, text, error } = await troupe.run({ prompt: 'go' }).finished
        console.log(status, text, error?.message ?? '')
        await troupe.close()
        await troupe.close()
      }
      process.once('exit', (code) => console.log('exit', code))`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { env, cwd: dir })
    const { code, stdout, stderr } = await watch(child).finished
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${'done all \n'.repeat(3)}exit 0\n`, stderr: '' })
  })

  test('of a runtime that is closed in the middle of its work nothing, and its sessions can go on', async () => {
    const workplace = createWorkplace()
    const script = many(5)
    const { dir, dataDir, env } = workplace
    const options = { dir, dataDir, env, model: `scripted:${workplace.script(script)}` }
    const before = openPorts()
    const first = await createTroupe(options)
    const run = first.run({ prompt: 'go' })
    await new Promise<void>((resolve) => {
      first.events.subscribe(({ type }) => type === 'job.launched' && resolve())
    })
    await first.close()
    expect(openPorts()).toBe(before)
    const second = await createTroupe(options)
    const finished = await second.resume(run.session).finished
    await second.close()
    expect(finished).toMatchObject({ status: 'done', text: 'all' })
    expect(finished.jobs.map(({ state, delivered }) => `${state} ${delivered}`)).toEqual(
      Array(5).fill('completed true'),
    )
  })
})

function until(troupe: Troupe, events: RuntimeEvent[], matches: (event: RuntimeEvent) => boolean): Promise<void> {
  if (events.some(matches)) return Promise.resolve()
  return new Promise((resolve) => troupe.events.subscribe((event) => matches(event) && resolve()))
}
