import { describe, expect, test } from 'vitest'
import { done, replyTo, said } from './fixtures/fake-server.ts'

const readA = { tool: 'read', args: { filePath: 'a' } }
const readB = { tool: 'read', args: { filePath: 'b' } }

/** The content comes whole, and then cut into pieces of one to seven characters: the reply is the same. */
async function replyToContent(content: string, changes = {}) {
  const whole = await replyTo([said({ content }), done], changes)
  const pieces: string[] = []
  for (let at = 0; at < content.length; ) {
    const piece = content.slice(at, at + 1 + (at % 7))
    pieces.push(piece)
    at += piece.length
  }
  const inPieces = await replyTo([...pieces.map((piece) => said({ content: piece })), done], changes)
  expect(inPieces).toEqual(whole)
  return whole
}

describe('a call that the model wrote as text (C58)', () => {
  test.each([
    ['alone', '{"name": "read", "arguments": {"filePath": "a"}}'],
    ['in a code fence', '```json\n{"name":"read","arguments":{"filePath":"a"}}\n```'],
    ['in tags', '<tool_call>\n{"name":"read","arguments":{"filePath":"a"}}\n</tool_call>'],
    ['with its arguments as text', '{"name":"read","arguments":"{\\"filePath\\":\\"a\\"}"}'],
    ['with parameters', '{"name":"read","parameters":{"filePath":"a"}}'],
    ['wrapped as a function', '{"type":"function","function":{"name":"read","arguments":{"filePath":"a"}}}'],
    ['after thinking', '<think>I need {"a": 1}.</think>\n{"name":"read","arguments":{"filePath":"a"}}'],
  ])('%s is one call, and no answer', async (_, content) => {
    const { reply, streamed } = await replyToContent(content)
    expect(reply.calls).toEqual([readA])
    expect(reply.text).toBe('')
    expect(streamed).toBe('')
  })

  test('two objects are two calls in order, and so is a list of two', async () => {
    const one = '{"name":"read","arguments":{"filePath":"a"}}'
    const other = '{"name":"read","arguments":{"filePath":"b"}}'
    expect((await replyToContent(`${one} ${other}`)).reply.calls).toEqual([readA, readB])
    expect((await replyToContent(`[${one}, ${other}]`)).reply.calls).toEqual([readA, readB])
    const tagged = `<tool_call>${one}</tool_call>\n<tool_call>${other}</tool_call>`
    expect((await replyToContent(tagged)).reply.calls).toEqual([readA, readB])
  })

  test('tags at the end of an answer are a call, and the answer stays', async () => {
    const content = 'I read a < b first.\n<tool_call>{"name":"read","arguments":{"filePath":"a"}}</tool_call>'
    const { reply, streamed } = await replyToContent(content)
    expect(reply.calls).toEqual([readA])
    expect(reply.text).toBe('I read a < b first.')
    expect(streamed.trimEnd()).toBe(reply.text)
  })

  test.each([
    ['an example within a sentence', 'Example: {"name":"read","arguments":{}} does X.'],
    ['a call with words after it', '{"name":"read","arguments":{}} does X.'],
    ['a tool that was not offered', '{"name": "rm_all", "arguments": {}}'],
    ['an answer in JSON', '{"name":"read","arguments":{},"verdict":"fine"}'],
    ['a list of numbers', '[1, 2]'],
    ['an empty list', '[]'],
    ['JSON that is cut', '{"name":"read","arguments":{"filePath":'],
    ['tags in the middle of an answer', 'Write <tool_call>{"name":"read","arguments":{}}</tool_call> to read.'],
    ['a fence of another language', '```ts\nconst a = 1\n```'],
  ])('%s stays text', async (_, content) => {
    const { reply, streamed } = await replyToContent(content)
    expect(reply.calls).toEqual([])
    expect(reply.text).toBe(content)
    expect(streamed).toBe(content)
  })

  test('without tools in the request it stays text', async () => {
    const content = '{"name": "read", "arguments": {"filePath": "a"}}'
    const { reply } = await replyToContent(content, { tools: [] })
    expect(reply).toMatchObject({ text: content, calls: [] })
  })
})

describe('arguments of a call (C59)', () => {
  const callWith = async (args: object) => {
    const { reply } = await replyTo([said({ tool_calls: [{ function: { name: 'read', ...args } }] }), done])
    return reply.calls
  }

  test('are taken as an object, as JSON, and as JSON of JSON', async () => {
    expect(await callWith({ arguments: { filePath: 'a' } })).toEqual([readA])
    expect(await callWith({ arguments: '{"filePath":"a"}' })).toEqual([readA])
    expect(await callWith({ arguments: '"{\\"filePath\\":\\"a\\"}"' })).toEqual([readA])
  })

  test('are none when there is nothing', async () => {
    const none = [{ tool: 'read', args: {} }]
    for (const nothing of [{ arguments: '{}' }, { arguments: '' }, { arguments: null }, {}]) {
      expect(await callWith(nothing)).toEqual(none)
    }
  })

  test('that are cut, or no object, come back as invalid', async () => {
    expect(await callWith({ arguments: '{"filePath":' })).toEqual([{ tool: 'read', args: {}, invalid: '{"filePath":' }])
    expect(await callWith({ arguments: [1] })).toEqual([{ tool: 'read', args: {}, invalid: '[1]' }])
  })

  test('do not reach the prototype of anything', async () => {
    const [call] = await callWith({ arguments: '{"__proto__":{"polluted":true}}' })
    expect(call).toBeDefined()
    expect('polluted' in {}).toBe(false)
  })
})

describe('several calls (C60)', () => {
  const call = (fields: object, path: string) => ({
    ...fields,
    function: { name: 'read', arguments: { filePath: path } },
  })

  test('in one chunk and in two, without ids or all with index 0, are two calls in order', async () => {
    const oneChunk = [said({ tool_calls: [call({}, 'a'), call({}, 'b')] }), done]
    expect((await replyTo(oneChunk)).reply.calls).toEqual([readA, readB])
    const twoChunks = ['a', 'b'].map((path) => said({ tool_calls: [call({ index: 0, id: path }, path)] }))
    expect((await replyTo([...twoChunks, done])).reply.calls).toEqual([readA, readB])
  })

  test('a call in fragments is one call', async () => {
    const fragments = [
      { name: 'read', arguments: '{"filePa' },
      { name: '', arguments: 'th":"a"}' },
    ].map((fragment) => said({ tool_calls: [{ index: 0, function: fragment }] }))
    expect((await replyTo([...fragments, done])).reply.calls).toEqual([readA])
  })
})

describe('a prompt that was cut (C61)', () => {
  const long = { messages: [{ role: 'user' as const, text: 'word '.repeat(12_000) }] }

  test('is a warning with both numbers', async () => {
    const { reply } = await replyTo([{ ...done, prompt_eval_count: 2051 }], long)
    expect(reply.warnings).toEqual([expect.stringMatching(/^prompt was truncated \(15,\d{3} -> 2,051\)/)])
  })

  test('is not suspected when the count is right, or missing because the prompt was cached', async () => {
    expect((await replyTo([{ ...done, prompt_eval_count: 12_100 }], long)).reply.warnings).toEqual([])
    expect((await replyTo([done], long)).reply.warnings).toEqual([])
    expect((await replyTo([{ ...done, prompt_eval_count: 3 }])).reply.warnings).toEqual([])
  })
})

describe('thinking (C62)', () => {
  test('alone is a reply without text', async () => {
    const { reply } = await replyTo([said({ thinking: 'I should read a.txt' }), done])
    expect(reply).toMatchObject({ text: '', thinking: 'I should read a.txt', calls: [], finish: 'stop' })
  })

  test('that hit the output limit says so', async () => {
    const { reply } = await replyTo([said({ thinking: 'hm' }), { ...done, done_reason: 'length' }])
    expect(reply).toMatchObject({ text: '', finish: 'length' })
  })

  test('in tags within the content is thinking, and what follows is the answer', async () => {
    expect((await replyToContent('<think>plan</think>')).reply).toMatchObject({ text: '', thinking: 'plan' })
    expect((await replyToContent('<think>plan')).reply).toMatchObject({ text: '', thinking: 'plan' })
    const { reply, streamed } = await replyToContent('<think>plan</think>\n\nAnswer <think> too')
    expect(reply).toMatchObject({ text: 'Answer <think> too', thinking: 'plan' })
    expect(streamed).toBe('Answer <think> too')
  })

  test('before a call leaves the call as it is', async () => {
    const chunks = [
      said({ thinking: 'hm' }),
      said({ tool_calls: [{ function: { name: 'read', arguments: {} } }] }),
      done,
    ]
    expect((await replyTo(chunks)).reply).toMatchObject({ thinking: 'hm', calls: [{ tool: 'read', args: {} }] })
  })
})
