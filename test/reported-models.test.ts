import { describe, expect, onTestFinished, test } from 'vitest'
import { done, type Received, said, sendChunks, startFakeServer } from '../src/models/ollama/fixtures/fake-server.ts'
import { createStage, createWorkplace, ofType, type Stage } from './support/workplace.ts'

/** Faults that users of other programs reported with local models, C58 to C62, on the wire of a whole run. */
type Sent = {
  role: string
  content: string
  tool_name?: string
  tool_calls?: { function: { name: string; arguments: unknown } }[]
}
type Chat = { messages: Sent[]; options: Record<string, unknown>; tools: unknown[]; model: string }
type Reply = object[]

/** A runtime with a server that gives these replies to its chat requests, in turn; the last one again and again. */
async function createWire(
  replies: Reply[],
  { context = 32_768, ...options }: { context?: number; config?: object } = {},
) {
  const chats: Chat[] = []
  const server = await startFakeServer((response, { body }: Received) => {
    if (!Array.isArray(body.messages)) {
      const details = { capabilities: ['completion', 'tools'], model_info: { 'x.context_length': context } }
      return void response.end(JSON.stringify(details))
    }
    chats.push(body as unknown as Chat)
    sendChunks(response, replies[Math.min(chats.length, replies.length) - 1] ?? [])
  })
  onTestFinished(() => server.close())
  const workplace = createWorkplace({ 'a.txt': 'alpha\n', 'b.txt': 'beta\n' })
  const stage = await createStage(workplace, 'ollama/x', {
    host: 'inline',
    ...options,
    config: { servers: { ollama: { url: server.url } }, ...options.config },
  })
  return { ...stage, chats }
}

const answer: Reply = [said({ content: 'the answer' }), done]
const content = (text: string): Reply => [said({ content: text }), done]
const calls = (...functions: object[]): object => said({ tool_calls: functions.map((one) => ({ function: one })) })

const read = (path: string) => ({ name: 'read', arguments: { file_path: path } })
const results = ({ messages }: Chat) => messages.filter(({ role }) => role === 'tool').map((one) => one.content)
const madeCalls = ({ messages }: Chat) => messages.flatMap((one) => one.tool_calls ?? []).map((one) => one.function)
const spoken = ({ events }: Pick<Stage, 'events'>) =>
  ofType(events, 'text.delta')
    .map(({ text }) => text)
    .join('')

describe('a call that the model wrote as text (C58)', () => {
  test.each([
    ['bare', JSON.stringify(read('a.txt'))],
    ['in a code fence', `\`\`\`json\n${JSON.stringify(read('a.txt'))}\n\`\`\``],
    ['in tags', `<tool_call>\n${JSON.stringify(read('a.txt'))}\n</tool_call>`],
    ['with the name of its parameters changed', JSON.stringify({ name: 'read', parameters: { file_path: 'a.txt' } })],
  ])('%s runs, is sent back as a call, and nobody sees its JSON', async (_how, text) => {
    const wire = await createWire([content(text), answer])
    expect((await wire.play('go')).text).toBe('the answer')
    expect(madeCalls(wire.chats[1] as Chat)).toEqual([read('a.txt')])
    expect(results(wire.chats[1] as Chat)).toEqual([expect.stringContaining('alpha')])
    expect(spoken(wire)).toBe('the answer')
  })

  test.each([
    ['of a tool that is not offered', JSON.stringify({ name: 'rm_all', arguments: {} })],
    ['within a sentence', `Example: ${JSON.stringify(read('a.txt'))} reads.`],
    ['that is other JSON', '{"files": ["a.txt"]}'],
  ])('%s is text', async (_how, text) => {
    const wire = await createWire([content(text)])
    expect((await wire.play('go')).text).toBe(text)
    expect(ofType(wire.events, 'tool.started')).toEqual([])
  })
})

describe('arguments of a call (C59)', () => {
  test.each([
    ['as an object', { file_path: 'a.txt' }],
    ['as JSON', JSON.stringify({ file_path: 'a.txt' })],
    ['as JSON of JSON', JSON.stringify(JSON.stringify({ file_path: 'a.txt' }))],
  ])('%s run the tool and go back as an object', async (_how, args) => {
    const wire = await createWire([[calls({ name: 'read', arguments: args }), done], answer])
    await wire.play('go')
    expect(results(wire.chats[1] as Chat)).toEqual([expect.stringContaining('alpha')])
    expect(madeCalls(wire.chats[1] as Chat)).toEqual([read('a.txt')])
  })

  test.each([
    ['that are cut', '{"file_path": "a.tx', /JSON/],
    ['that are a list', '["a.txt"]', /object|JSON/],
    ['that are empty', '', /file_path/],
    ['that are null', null, /file_path/],
    ['that are missing', undefined, /file_path/],
  ])('%s are told to the model; the tool does not run, and an object goes back', async (_how, args, message) => {
    const wire = await createWire([[calls({ name: 'read', arguments: args }), done], answer])
    expect((await wire.play('go')).text).toBe('the answer')
    const [result, ...others] = results(wire.chats[1] as Chat)
    expect(others).toEqual([])
    expect(result).toMatch(message)
    expect(result).not.toContain('alpha')
    expect(madeCalls(wire.chats[1] as Chat).map((one) => typeof one.arguments)).toEqual(['object'])
    expect(madeCalls(wire.chats[1] as Chat)[0]?.arguments).not.toBeNull()
  })
})

describe('a call of a tool that nobody has', () => {
  test.each(['Reed', '__proto__', 'constructor', ''])(
    'named %j is told so, and goes back under its name',
    async (name) => {
      const wire = await createWire([[calls({ name, arguments: {} }), done], answer])
      expect((await wire.play('go')).text).toBe('the answer')
      expect(madeCalls(wire.chats[1] as Chat)).toEqual([{ name, arguments: {} }])
      expect(results(wire.chats[1] as Chat)).toEqual([expect.stringContaining(`unknown tool "${name}"`)])
    },
  )
})

describe('numbers that are none', () => {
  test('in the usage count as nothing', async () => {
    const numbers = { prompt_eval_count: '12', eval_count: -4 }
    const wire = await createWire([[said({ content: 'the answer' }), { ...done, ...numbers }]])
    const { usage } = await wire.play('go')
    expect(usage).toMatchObject({ inputTokens: 0, outputTokens: 0 })
  })
})

describe('several calls in one reply (C60)', () => {
  const withIndex = (name: string, args: object, id?: string) => ({
    ...(id && { id }),
    function: { index: 0, name, arguments: args },
  })

  test.each<[string, Reply]>([
    ['in one chunk, without ids', [calls(read('a.txt'), read('b.txt')), done]],
    ['in two chunks, without ids', [calls(read('a.txt')), calls(read('b.txt')), done]],
    [
      'all with index 0, with ids',
      [
        said({ tool_calls: [withIndex('read', { file_path: 'a.txt' }, 'one')] }),
        said({ tool_calls: [withIndex('read', { file_path: 'b.txt' }, 'two')] }),
        done,
      ],
    ],
    [
      'with one id for both',
      [
        said({
          tool_calls: [
            withIndex('read', { file_path: 'a.txt' }, 'same'),
            withIndex('read', { file_path: 'b.txt' }, 'same'),
          ],
        }),
        done,
      ],
    ],
  ])('%s: each runs, and results go back in order', async (_how, reply) => {
    const wire = await createWire([reply, answer])
    await wire.play('go')
    expect(madeCalls(wire.chats[1] as Chat)).toEqual([read('a.txt'), read('b.txt')])
    expect(results(wire.chats[1] as Chat)).toEqual([expect.stringContaining('alpha'), expect.stringContaining('beta')])
    expect(
      ofType(wire.events, 'tool.finished')
        .map(({ callId }) => callId)
        .sort(),
    ).toEqual(['c1.1', 'c1.2'])
  })
})

describe('the size of the context (C61)', () => {
  test('is asked for in every request of every session, the same each time, and never cut in silence', async () => {
    const task = { name: 'task', arguments: { agent: 'explorer', prompt: 'look', description: 'look at it' } }
    const wire = await createWire([[calls(task), done], [calls(read('a.txt')), done], answer])
    await wire.play('go')
    expect(wire.chats.length).toBeGreaterThanOrEqual(4)
    expect(new Set(wire.chats.map(({ options }) => options.num_ctx))).toEqual(new Set([16_384]))
    for (const chat of wire.chats) expect(chat).toMatchObject({ truncate: false, shift: false })
  })

  test('is not larger than the model can take, nor than was configured', async () => {
    const small = await createWire([answer], { context: 8192 })
    await small.play('go')
    expect(small.chats[0]?.options.num_ctx).toBe(8192)
    expect(small.troupe.model.contextTokens).toBe(8192)
  })

  test('that the server did not keep is seen by whoever watches, with both numbers', async () => {
    const wire = await createWire([[said({ content: 'the answer' }), { ...done, prompt_eval_count: 1203 }]])
    expect((await wire.play(`${'word '.repeat(6000)}`)).status).toBe('done')
    expect(ofType(wire.events, 'model.truncated').map(({ message }) => message)).toEqual([
      expect.stringMatching(/1,?203/),
    ])
  })
})

describe('a reply without an answer (C62)', () => {
  test.each<[string, Reply]>([
    ['thinking alone', [said({ thinking: 'I should read a.txt' }), done]],
    ['thinking in tags alone', content('<think>plan</think>')],
    ['nothing', [done]],
    ['blanks', content(' \n ')],
  ])('%s is asked for again a few times, then it is a failure, never an empty success', async (_how, reply) => {
    const wire = await createWire([reply])
    const finished = await wire.play('go')
    expect(finished).toMatchObject({ status: 'failed', text: '' })
    expect(finished.error?.message).toMatch(/neither text nor a tool call/)
    expect(wire.chats.length).toBeGreaterThan(1)
    expect(wire.chats.length).toBeLessThan(6)
  })

  test('because the output limit was hit says so', async () => {
    const wire = await createWire([[said({ thinking: 'on and on' }), { ...done, done_reason: 'length' }]])
    expect((await wire.play('go')).error?.message).toMatch(/output limit/)
  })

  test('an answer that the output limit cut is given, and that it was cut', async () => {
    const wire = await createWire([[said({ content: 'half an ans' }), { ...done, done_reason: 'length' }]])
    expect((await wire.play('go')).text).toBe('half an ans')
    expect(ofType(wire.events, 'model.truncated').map(({ message }) => message)).toEqual([
      expect.stringMatching(/output limit/),
    ])
  })

  test('at first, and one at the second try: that one counts', async () => {
    const wire = await createWire([[said({ thinking: 'hm' }), done], content('<think>plan</think>Answer')])
    expect(await wire.play('go')).toMatchObject({ status: 'done', text: 'Answer' })
    expect(spoken(wire)).toBe('Answer')
  })

  test('but a call: the call runs', async () => {
    const wire = await createWire([[said({ thinking: 'read it' }), calls(read('a.txt')), done], answer])
    expect((await wire.play('go')).text).toBe('the answer')
    expect(results(wire.chats[1] as Chat)).toEqual([expect.stringContaining('alpha')])
  })
})
