import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { RunFinished } from '../src/index.ts'
import { checkInvariants } from './support/check-invariants.ts'
import {
  type AnswerChat,
  type Asked,
  createModelStage,
  done,
  line,
  type ModelStage,
  refuse,
  said,
  sayCalls,
  sayText,
  startModelServer,
} from './support/model-server.ts'
import { ofType } from './support/workplace.ts'

type Options = Parameters<typeof createModelStage>[1]
type Played = ModelStage & { finished: RunFinished; asked: Asked[]; ofChild: Asked[] }

/** A lead sends one explorer and repeats what it says; `answer` plays the explorer, its requests counted from 1. */
async function playChild(answer: AnswerChat, options: Options = {}): Promise<Played> {
  const ofChild: Asked[] = []
  const server = await startModelServer((response, asked) => {
    if (asked.depth === 1) answer(response, asked, ofChild.push(asked))
    else if (asked.turn === 1) sayCalls(response, ['task', { agent: 'explorer', prompt: 'look' }])
    else sayText(response, asked.messages.findLast(({ role }) => role === 'tool')?.content ?? 'nothing')
  })
  const stage = await createModelStage(server, { host: 'inline', ...options })
  const finished = await stage.play('go')
  await checkClosed(stage, finished)
  return { ...stage, finished, asked: server.asked, ofChild }
}

/** After the runtime has been closed. */
async function checkClosed({ troupe, workplace }: ModelStage, { root, jobs }: RunFinished): Promise<void> {
  await troupe.close()
  await checkInvariants({ dataDir: workplace.dataDir, root, pids: [process.pid], jobs })
}

const answersOfChild = ({ events }: Played) =>
  ofType(events, 'message.added').filter(({ role, session, root }) => role === 'assistant' && session !== root)

const retries = ({ events }: Played) => ofType(events, 'model.retried')

describe('a server that fails for a while', () => {
  test.each([500, 502, 503, 529])('with %i is asked again, ever later, and its one answer counts', async (status) => {
    const played = await playChild((response, _, nth) => {
      if (nth <= 3) refuse(response, status, 'overloaded')
      else sayText(response, 'back again')
    })
    expect(played.finished).toMatchObject({ status: 'done', text: 'back again' })
    expect(retries(played)).toMatchObject([2, 3, 4].map((attempt) => ({ attempt, error: { code: 'model-failed' } })))
    const delays = retries(played).map(({ delayMs }) => delayMs)
    for (const [n, delayMs] of delays.entries()) expect(delayMs).toBeLessThanOrEqual(1000 * 2 ** n)
    expect(played.ofChild.map(({ attempt, turn }) => `${turn}.${attempt}`)).toEqual(['1.1', '1.2', '1.3', '1.4'])
    expect(answersOfChild(played)).toHaveLength(1)
  })

  test.each([
    ['seconds', () => ({ 'retry-after': '1' }), 1000],
    ['a date', () => ({ 'retry-after': new Date(Date.now() + 2000).toUTCString() }), 2000],
    ['milliseconds', () => ({ 'retry-after-ms': '30', 'retry-after': '9' }), 30],
  ])('and says for how long in %s is asked then', async (_, headers, mostMs) => {
    const played = await playChild((response, _asked, nth) => {
      if (nth === 1) refuse(response, 429, 'slow down', headers())
      else sayText(response, 'fine')
    })
    expect(played.finished.text).toBe('fine')
    const [retried] = retries(played)
    expect(retried?.delayMs).toBeLessThanOrEqual(mostMs)
    expect(retried?.delayMs).toBeGreaterThan(mostMs / 4)
    const [first, second] = played.ofChild
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual((retried?.delayMs ?? 0) - 5)
  })

  test('and never recovers ends the child as failed, and the parent reads why', async () => {
    const played = await playChild((response) => refuse(response, 503, 'down', { 'retry-after-ms': '1' }))
    expect(played.finished).toMatchObject({ status: 'done', jobs: [{ state: 'failed', delivered: true }] })
    expect(played.finished.text).toMatch(/The sub-agent failed: .*\(503\): down/)
    expect(played.ofChild).toHaveLength(4)
  })
})

describe('a server that refuses', () => {
  test.each([
    [400, 'the input length exceeds the context length', 'contextTokens'],
    [400, 'invalid options', 'Check the model and its options'],
    [401, 'unauthorized', 'credentials'],
    [403, 'forbidden', 'credentials'],
    [404, "model 'x' not found", 'ollama pull x'],
  ])('with %i (%s) is asked once, and the parent reads the remedy', async (status, text, remedy) => {
    const played = await playChild((response) => refuse(response, status, text))
    expect(played.finished).toMatchObject({ status: 'done', jobs: [{ state: 'failed', delivered: true }] })
    expect(played.finished.text).toContain(remedy)
    expect(played.ofChild).toHaveLength(1)
    expect(retries(played)).toEqual([])
  })
})

describe('a connection', () => {
  test('that is refused is tried a few times, then the run fails with the remedy', async () => {
    const server = await startModelServer(() => {})
    const stage = await createModelStage(server)
    await server.close()
    const finished = await stage.play('go')
    expect(finished).toMatchObject({ status: 'failed', error: { code: 'model-unreachable' } })
    expect(finished.error?.message).toContain('ollama serve')
    expect(ofType(stage.events, 'model.retried')).toHaveLength(3)
  })

  test('that is reset before the answer is made again', async () => {
    const played = await playChild((response, _, nth) => {
      if (nth <= 2) response.socket?.resetAndDestroy()
      else sayText(response, 'third time lucky')
    })
    expect(played.finished.text).toBe('third time lucky')
  })

  test('that brings no headers is given up after firstByteMs, and closed', async () => {
    const played = await playChild(
      (response, _, nth) => {
        if (nth > 1) sayText(response, 'awake')
      },
      { entry: { firstByteMs: 1500 }, host: 'threads' },
    )
    expect(played.finished.text).toBe('awake')
    expect(retries(played)[0]?.error.message).toContain('firstByteMs')
    await played.ofChild[0]?.closed
  })

  test('that falls silent is given up after silenceMs, whatever empty chunks it brings', async () => {
    const played = await playChild(
      (response, _, nth) => {
        if (nth > 1) return sayText(response, 'whole')
        for (const word of ['one ', 'two ', 'three ']) response.write(line(said({ content: word })))
        const timer = setInterval(() => response.write(line(said({}))), 50)
        response.once('close', () => clearInterval(timer))
      },
      { entry: { silenceMs: 800 } },
    )
    expect(played.finished.text).toBe('whole')
    expect(retries(played)).toMatchObject([{ attempt: 2, error: { code: 'model-incomplete' } }])
    expect(answersOfChild(played).map(({ text }) => text)).toEqual(['whole'])
    await played.ofChild[0]?.closed
  })
})

describe('a reply that breaks off', () => {
  const half = (response: ServerResponse) => {
    response.write(line(said({ content: 'half a thought' })))
    response.write(line(said({ tool_calls: [{ function: { name: 'glob', arguments: { pattern: '*' } } }] })))
    response.end('{"message":{"role":"assist')
  }

  test('is asked for once more, and no call of it is run', async () => {
    const played = await playChild((response, _, nth) => (nth === 1 ? half(response) : sayText(response, 'whole')))
    expect(played.finished.text).toBe('whole')
    expect(ofType(played.events, 'tool.started').map(({ tool }) => tool)).toEqual(['task'])
    expect(retries(played)).toMatchObject([{ attempt: 2, error: { code: 'model-incomplete' } }])
  })

  test('twice ends the child as failed, with the text it had, marked as partial', async () => {
    const played = await playChild((response) => half(response))
    expect(played.finished.jobs).toMatchObject([{ state: 'failed', delivered: true }])
    expect(played.finished.text).toContain('(partial):\nhalf a thought')
    expect(played.ofChild).toHaveLength(2)
    expect(ofType(played.events, 'tool.started').map(({ tool }) => tool)).toEqual(['task'])
  })

  test('after two failures of the server still has its second chance', async () => {
    const played = await playChild((response, _, nth) => {
      if (nth <= 2) refuse(response, 500, 'busy', { 'retry-after-ms': '1' })
      else if (nth === 3) half(response)
      else sayText(response, 'whole')
    })
    expect(played.finished.text).toBe('whole')
  })

  test.each<[string, string]>([
    ['a page of a proxy', '<html>Log in</html>'],
    ['a line that is no JSON', `${line(said({ content: 'a' }))}{"message":{"content":NaN}}\n`],
    ['nothing at all', ''],
    ['a line without end', `{"message":{"content":"${'x'.repeat(66 * 1024 * 1024)}`],
  ])('because it is %s, is asked for once more', async (_, bytes) => {
    const played = await playChild((response, _asked, nth) => {
      if (nth === 1) response.end(bytes)
      else sayText(response, 'good')
    })
    expect(played.finished.text).toBe('good')
    expect(retries(played)).toMatchObject([{ error: { code: 'model-incomplete' } }])
  })
})

describe('a reply that is odd', () => {
  test('in its bytes arrives as it was meant', async () => {
    const bytes = Buffer.from(`\uFEFF${line(said({ content: 'naïve 🎭' })).trim()}\r\n\r\n${line(done)}`)
    const played = await playChild(async (response) => {
      for (const byte of bytes) {
        response.write(Buffer.of(byte))
        await new Promise(setImmediate)
      }
      response.end()
    })
    expect(played.finished.text).toBe('naïve 🎭')
  })

  test('in its calls gets one result for each call, and pollutes nothing', async () => {
    const calls: object[] = [
      { id: 'same', function: { name: 'glob', arguments: { pattern: '*.a' } } },
      { id: 'same', function: { name: 'glob', arguments: { pattern: '*.b' } } },
      { id: '', function: { name: 'read', arguments: '{"file_path":' } },
      { function: { name: 'read', arguments: '{"__proto__":{"file_path":"a.txt","polluted":true}}' } },
      { function: { name: 'glob', arguments: { pattern: 5, constructor: { prototype: { polluted: true } } } } },
      { function: { name: 'rm_all', arguments: [1] } },
      { function: { arguments: {} } },
    ]
    const played = await playChild((response, { messages }, nth) => {
      if (nth === 1) response.end(line(said({ tool_calls: calls })) + line(done))
      else sayText(response, `${messages.filter(({ role }) => role === 'tool').length} results`)
    })
    expect(played.finished.text).toBe('7 results')
    const results = played.ofChild[1]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    expect(results?.[2]).toContain('invalid JSON arguments')
    expect(results?.[3]).toContain('invalid parameters')
    expect(results?.[5]).toContain('unknown tool "rm_all"')
    expect(results?.[6]).toContain('unknown tool ""')
    const ids = played.ofChild[1]?.messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id))
    expect(new Set(ids).size).toBe(7)
    expect('polluted' in {}).toBe(false)
  })

  test('because the server could not read its call is asked for twice more at once', async () => {
    const broken = 'error parsing tool call: raw={"x"'
    const played = await playChild((response, _, nth) => {
      if (nth <= 2) refuse(response, 500, broken)
      else sayText(response, 'no call then')
    })
    expect(played.finished.text).toBe('no call then')
    expect(retries(played)).toMatchObject([{ delayMs: 0 }, { delayMs: 0 }])

    const never = await playChild((response) => refuse(response, 500, broken))
    expect(never.finished.jobs).toMatchObject([{ state: 'failed' }])
    expect(never.ofChild).toHaveLength(3)
  })

  test('because it has neither text nor call is asked for twice more, visibly, then the child fails', async () => {
    const played = await playChild((response) => response.end(line(said({ thinking: 'hm' })) + line(done)))
    expect(played.finished.jobs).toMatchObject([{ state: 'failed' }])
    expect(played.finished.text).toContain('answered 3 times with neither text nor a tool call')
    expect(retries(played)).toHaveLength(2)
    expect(played.ofChild).toHaveLength(3)
  })
})

describe('a cancel', () => {
  /** Cancels the run when `when` says so, and looks whether anything comes afterwards. */
  async function cancelWhile(answer: AnswerChat, type: 'model.retried' | 'text.delta' | 'turn.started') {
    const server = await startModelServer(answer)
    const stage = await createModelStage(server)
    const { troupe, events } = stage
    const run = troupe.run({ prompt: 'go' })
    await new Promise<void>((resolve) => troupe.events.subscribe((event) => event.type === type && resolve()))
    while (server.asked.length === 0) await pause(5)
    await run.cancel()
    const finished = await run.finished
    const told = events.length
    await server.asked.at(-1)?.closed
    await pause(300)
    expect(finished.status).toBe('interrupted')
    expect(events).toHaveLength(told)
    await checkClosed(stage, finished)
    return { ...stage, asked: server.asked, session: run.session }
  }

  test('during the wait before another try ends it', async () => {
    const { asked } = await cancelWhile(
      (response) => refuse(response, 503, 'busy', { 'retry-after': '30', connection: 'close' }),
      'model.retried',
    )
    expect(asked).toHaveLength(1)
  })

  test('before the first byte closes the connection', async () => {
    const { asked } = await cancelWhile(() => {}, 'turn.started')
    expect(asked).toHaveLength(1)
  })

  test('in the middle of a reply closes the connection, keeps what there was and takes nothing more', async () => {
    const stage = await cancelWhile((response) => {
      const timer = setInterval(() => response.write(line(said({ content: 'word ' }))), 20)
      response.once('close', () => clearInterval(timer))
    }, 'text.delta')
    const again = await startModelServer((response, { messages }) => sayText(response, JSON.stringify(messages)))
    const later = await createModelStage(again, {}, stage.workplace)
    const { text } = await later.troupe.run({ prompt: 'on', session: stage.session }).finished
    expect(text).toContain('word ')
    expect(text).toContain('[interrupted here]')
  })

  test('of a second try keeps the text of that one alone', async () => {
    const server = await startModelServer((response, _, nth) => {
      response.write(line(said({ content: nth === 1 ? 'first try ' : 'second try ' })))
      if (nth === 1) response.end()
    })
    const { troupe, events, workplace } = await createModelStage(server)
    const run = troupe.run({ prompt: 'go' })
    while (ofType(events, 'text.delta').length < 2) await pause(5)
    await run.cancel()
    await run.finished
    const partials = readFileSync(join(workplace.dataDir, 'sessions', run.session, `${run.session}.jsonl`), 'utf8')
      .split('\n')
      .filter((record) => record.includes('"turn.partial"'))
    expect(partials.at(-1)).toContain('"second try "')
  })
})

test('one who waits for a place at the server is told so, and that is no silence', async () => {
  const server = await startModelServer(async (response, { depth, turn }) => {
    if (depth === 0 && turn === 1) {
      const call: [string, unknown] = ['task', { agent: 'explorer', prompt: 'look' }]
      return sayCalls(response, call, call, call)
    }
    for (let n = 0; n < 8; n += 1) {
      response.write(line(said({ content: `${n} ` })))
      await pause(100)
    }
    response.end(line(done))
  })
  const { play, events } = await createModelStage(server, { entry: { slots: 1, firstByteMs: 600, silenceMs: 600 } })
  const finished = await play('go')
  expect(finished.status).toBe('done')
  expect(finished.jobs.map(({ state }) => state)).toEqual(['completed', 'completed', 'completed'])
  expect(ofType(events, 'model.waiting').length).toBeGreaterThan(0)
  expect(ofType(events, 'model.retried')).toEqual([])
})

test('the time that one waits for a place at the server does not count against its own', async () => {
  const children = 6
  const server = await startModelServer(async (response, { depth, turn }) => {
    const call: [string, unknown] = ['task', { agent: 'explorer', prompt: 'look', background: true, timeout_ms: 2500 }]
    if (depth === 0) return turn === 1 ? sayCalls(response, ...Array(children).fill(call)) : sayText(response, 'heard')
    await pause(600)
    sayText(response, 'seen')
  })
  const { play, events } = await createModelStage(server, { entry: { slots: 1 } })
  const began = performance.now()
  const finished = await play('go')
  // The last of them had to wait for longer than it may take.
  expect(performance.now() - began).toBeGreaterThan(2500)
  expect(finished.jobs.map(({ state }) => state)).toEqual(Array(children).fill('completed'))
  expect(ofType(events, 'model.waiting').length).toBeGreaterThanOrEqual(children - 1)
})
