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
    ['in a fence of another spelling', '```JSON\r\n{"name":"read","arguments":{"filePath":"a"}}\r\n```\n'],
    ['in other tags', '<tools>{"name":"read","arguments":{"filePath":"a"}}</tools>'],
    ["behind Llama's mark", '<|python_tag|>{"name":"read","parameters":{"filePath":"a"}}'],
    ["behind Mistral's mark", '[TOOL_CALLS][{"name":"read","arguments":{"filePath":"a"}}]'],
    ['as a function tag with JSON', '<function=read>{"filePath":"a"}</function>'],
    [
      'in tags of the function',
      '<tool_call>\n<function=read>\n<parameter=filePath>\na\n</parameter>\n</function>\n</tool_call>',
    ],
    ['after thinking twice', '<think>\n\n</think>\n<think>hm</think>\n{"name":"read","arguments":{"filePath":"a"}}'],
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

  test('two fences are two calls', async () => {
    const fenced = ['a', 'b'].map((path) => `\`\`\`json\n{"name":"read","arguments":{"filePath":"${path}"}}\n\`\`\``)
    expect((await replyToContent(fenced.join('\n'))).reply.calls).toEqual([readA, readB])
  })

  test('tags and line breaks within the arguments are part of them', async () => {
    const content = '<tool_call>a</tool_call>\n<parameter=x>'
    const written = { tool: 'write', args: { filePath: 'a', content } }
    const asJson = JSON.stringify({ name: 'write', arguments: written.args })
    expect((await replyToContent(`<tool_call>${asJson}</tool_call>`)).reply.calls).toEqual([written])
    const parameters = `<parameter=filePath>\na\n</parameter>\n<parameter=content>\n${content}\n</parameter>`
    expect((await replyToContent(`<function=write>\n${parameters}\n</function>`)).reply.calls).toEqual([written])
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
    ['a function that was not offered', '<function=rm_all>{"filePath":"a"}</function>'],
    ['a function tag that is cut', '<function=read>\n<parameter=filePath>\na'],
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
    const begin = { name: 'read', arguments: '{"filePa' }
    const rest = { arguments: 'th":"a"}' }
    const callOf = (...pieces: object[]) => replyTo([...pieces.map((piece) => said({ tool_calls: [piece] })), done])
    for (const name of ['', undefined]) {
      const pieces = [begin, { ...rest, name }].map((piece) => ({ index: 0, function: piece }))
      expect((await callOf(...pieces)).reply.calls).toEqual([readA])
    }
    const named = [begin, { ...rest, name: 'read' }].map((piece) => ({ index: 0, id: 'c1', function: piece }))
    expect((await callOf(...named)).reply.calls).toEqual([readA])
  })

  test('fragments of two calls that come in turn go by their index', async () => {
    const chunks = [
      ...[0, 1].map((index) => ({ index, id: `c${index}`, function: { name: 'read', arguments: '' } })),
      ...['a', 'b'].map((path, index) => ({ index, function: { arguments: JSON.stringify({ filePath: path }) } })),
    ].map((piece) => said({ tool_calls: [piece] }))
    expect((await replyTo([...chunks, done])).reply.calls).toEqual([readA, readB])
  })

  test('with one id between them are two calls', async () => {
    const chunk = said({ tool_calls: [call({ id: 'same' }, 'a'), call({ id: 'same' }, 'b')] })
    expect((await replyTo([chunk, done])).reply.calls).toEqual([readA, readB])
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

  test('in several tags, or in empty ones, leaves the answer alone', async () => {
    const twice = await replyToContent('<think>a</think>\n<think>b</think>\n\nAnswer')
    expect(twice.reply).toMatchObject({ text: 'Answer', thinking: 'ab' })
    expect((await replyToContent('<think>\n\n</think>\n\nAnswer')).reply.text).toBe('Answer')
    expect((await replyToContent('<think></think>\n\nAnswer')).reply).toMatchObject({ text: 'Answer', thinking: '' })
  })

  test('that the template opened and the model only closed is thinking', async () => {
    const answer = await replyTo([said({ content: 'They greet me.\n' }), said({ content: '</think>\n\nHello' }), done])
    expect(answer.reply).toMatchObject({ text: 'Hello', thinking: 'They greet me.\n', calls: [] })
    const content = 'Read it.\n</think>\n\n{"name":"read","arguments":{"filePath":"a"}}'
    expect((await replyTo([said({ content }), done])).reply).toMatchObject({ text: '', calls: [readA] })
    const about = 'The tag `</think>` ends what <think>\n</think>\nbegins.'
    expect((await replyTo([said({ content: about }), done])).reply).toMatchObject({ text: about, thinking: '' })
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
