import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type { RunningServer } from '../listen.ts'
import { startScriptedServer } from './scripted-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'scripted-server-'))
afterAll(() => rmSync(folder, { recursive: true }))

let server: RunningServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

let files = 0

async function jsonOf<Body>(reply: Promise<Response>): Promise<Body> {
  return (await (await reply).json()) as Body
}

type Chat = { message?: { content: string }; error?: string }
type Choice = {
  finish_reason: string
  message: { content: string; tool_calls: { id: string }[] }
  delta: { content?: string; tool_calls?: { index: number }[] }
}
type Completion = {
  choices: Choice[]
  usage: { total_tokens: number; prompt_tokens: number; completion_tokens: number }
  error: { message: string }
}

async function serve(script: string): Promise<(path: string, body?: object, headers?: object) => Promise<Response>> {
  const path = join(folder, `${++files}.yaml`)
  writeFileSync(path, script)
  server = await startScriptedServer({ path })
  const { url } = server
  return (route, body, headers = {}) =>
    fetch(`${url}${route}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
}

const script = `
model: { context: 8192, parameters: 7B, tools: true }
rules:
  - when: { prompt: calls }
    reply:
      text: Two calls.
      thinking: hm
      calls: [{ tool: read, args: { file_path: a } }, { tool: bash, args: { command: ls } }]
  - when: { prompt: turn, turn: 2 }
    reply: { text: "second of {{agent}}, {{last}}" }
  - when: { prompt: slow }
    reply: { text: a b c, chunkMs: 10000 }
  - when: { prompt: "^hello$" }
    reply: { text: one two three, usage: { inputTokens: 11, outputTokens: 3 } }
`

const hello = { model: 'm', messages: [{ role: 'user', content: 'hello' }] }

describe('Ollama', () => {
  test('describes the model, the server and what is loaded', async () => {
    const ask = await serve(script)
    const shown = await (await ask('/api/show', { model: 'm' })).json()
    expect(shown).toMatchObject({
      capabilities: expect.arrayContaining(['tools']),
      details: { parameter_size: '7B' },
      model_info: { 'general.parameter_count': 7e9, 'scripted.context_length': 8192 },
    })
    expect(await (await ask('/api/tags')).json()).toMatchObject({ models: [{ name: 'scripted:latest' }] })
    expect((await jsonOf<{ version: string }>(ask('/api/version'))).version).toMatch(/^\d/)
    expect(await (await ask('/api/ps')).json()).toEqual({ models: [] })
    await ask('/api/chat', { ...hello, stream: false, options: { num_ctx: 6000 } })
    expect(await (await ask('/api/ps')).json()).toMatchObject({ models: [{ context_length: 6000 }] })
    expect((await ask('/api/nonsense')).status).toBe(404)
  })

  test('streams lines of JSON unless told not to', async () => {
    const ask = await serve(script)
    const lines = (await (await ask('/api/chat', hello)).text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ message }) => message.content)).toEqual(['one ', 'two ', 'three', ''])
    expect(lines.at(-1)).toMatchObject({ done: true, done_reason: 'stop', prompt_eval_count: 11, eval_count: 3 })
    const whole = await (await ask('/api/chat', { ...hello, stream: false })).json()
    expect(whole).toMatchObject({ message: { role: 'assistant', content: 'one two three' }, done: true, eval_count: 3 })
  })

  test('knows the turn and the agent by headers, and without them the turn by the messages', async () => {
    const ask = await serve(script)
    const call = (name: string) => ({ function: { name, arguments: {} } })
    const messages = [
      { role: 'user', content: 'turn' },
      { role: 'assistant', content: '', tool_calls: [call('read')] },
      { role: 'tool', content: 'out', tool_name: 'read' },
      { role: 'assistant', content: '', tool_calls: [call('sub_agent_result')] },
      { role: 'tool', content: 'back', tool_name: 'sub_agent_result' },
    ]
    const say = async (headers = {}) => {
      const body = { model: 'm', messages, stream: false }
      return (await jsonOf<Chat>(ask('/api/chat', body, headers))).message?.content
    }
    expect(await say()).toBe('second of , back')
    expect(await say({ 'x-troupe-turn': '2', 'x-troupe-agent': 'l%C3%B6w' })).toBe('second of löw, back')
    expect(await say({ 'x-troupe-turn': '3' })).toBe(undefined)
  })

  test('answers what it cannot play with an error that says why', async () => {
    const ask = await serve(script)
    const unmatched = await ask('/api/chat', { ...hello, messages: [{ role: 'user', content: 'nothing' }] })
    expect(unmatched.status).toBe(400)
    expect((await jsonOf<Chat>(Promise.resolve(unmatched))).error).toMatch(/^script-unmatched: .*prompt: "nothing"/)
    const broken = await fetch(`${server?.url}/api/chat`, { method: 'POST', body: '{"model":' })
    expect(broken.status).toBe(400)
    const named = await serve('model: { name: "mine:1b", tools: false }\nrules: [{ reply: { text: hi } }]')
    expect((await named('/api/show', { model: 'other' })).status).toBe(404)
    expect((await named('/api/show', { model: 'mine:1b' })).status).toBe(200)
    const tools = [{ type: 'function', function: { name: 'read' } }]
    const refused = await named('/api/chat', { ...hello, model: 'mine:1b', tools })
    expect(await refused.json()).toEqual({ error: 'mine:1b does not support tools' })
  })
})

describe('OpenAI', () => {
  const asking = { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: 'calls please' }] }] }

  test('lists its model', async () => {
    const ask = await serve(script)
    expect(await (await ask('/v1/models')).json()).toMatchObject({ object: 'list', data: [{ object: 'model' }] })
  })

  test('answers in one piece, arguments as JSON text', async () => {
    const ask = await serve(script)
    const { choices, usage } = await jsonOf<Completion>(ask('/v1/chat/completions', asking))
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { role: 'assistant', content: 'Two calls.', reasoning_content: 'hm' },
    })
    const calls = choices[0]?.message.tool_calls ?? []
    expect(calls[0]).toMatchObject({ type: 'function', function: { name: 'read', arguments: '{"file_path":"a"}' } })
    expect(calls[0]?.id).not.toBe(calls[1]?.id)
    expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
  })

  test('streams events, the usage if it is asked for, and [DONE] last', async () => {
    const ask = await serve(script)
    const reply = await ask('/v1/chat/completions', {
      ...asking,
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(reply.headers.get('content-type')).toContain('text/event-stream')
    const data = (await reply.text())
      .trim()
      .split('\n\n')
      .map((event) => event.replace('data: ', ''))
    expect(data.pop()).toBe('[DONE]')
    const chunks = data.map((text): Completion => JSON.parse(text))
    const deltas = chunks.flatMap(({ choices }) => choices.map((choice) => choice.delta))
    expect(deltas.map(({ content }) => content ?? '').join('')).toBe('Two calls.')
    expect(deltas.flatMap(({ tool_calls }) => tool_calls ?? []).map(({ index }) => index)).toEqual([0, 1])
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls')
    expect(chunks.at(-1)?.usage.completion_tokens).toBeGreaterThan(0)
  })

  test('pairs results with calls by their ids', async () => {
    const ask = await serve('rules: [{ when: { last: bash }, reply: { text: "{{output.read}}, {{output.bash}}" } }]')
    const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, tool_calls: [call('x', 'read'), call('y', 'bash')] },
      { role: 'tool', tool_call_id: 'x', content: 'from read' },
      { role: 'tool', tool_call_id: 'y', content: 'from bash' },
    ]
    const { choices } = await jsonOf<Completion>(ask('/v1/chat/completions', { model: 'm', messages }))
    expect(choices[0]?.message.content).toBe('from read, from bash')
  })

  test('reports errors in its own shape', async () => {
    const ask = await serve('rules: [{ reply: { fault: { status: 429, retryAfter: 3 } } }]')
    const refused = await ask('/v1/chat/completions', asking)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('3')
    expect((await jsonOf<Completion>(Promise.resolve(refused))).error.message).toMatch(/429/)
  })
})

test('closes though a reply is under way and a connection lies open', async () => {
  const ask = await serve(script)
  const slow = ask('/api/chat', { ...hello, messages: [{ role: 'user', content: 'slow' }] }).catch(() => 'closed')
  const { port } = new URL(server!.url)
  const idle = connect(Number(port), '127.0.0.1')
  const ended = new Promise((resolve) => idle.once('close', resolve))
  await new Promise((resolve) => idle.once('connect', resolve))
  await new Promise((resolve) => setTimeout(resolve, 50))
  await server?.close()
  await ended
  expect(await slow).toBe('closed')
})

test('a port that is taken is an error that says so', async () => {
  await serve(script)
  const path = join(folder, `${files}.yaml`)
  const second = startScriptedServer({ path, port: Number(new URL(server!.url).port) })
  await expect(second).rejects.toMatchObject({ code: 'port-in-use' })
})

test('64 clients at once each get their own reply', async () => {
  const ask = await serve('rules: [{ reply: { text: "you said {{prompt}}" } }]')
  const say = async (index: number) => {
    const body = { model: 'm', messages: [{ role: 'user', content: `n${index}` }], stream: false }
    return (await jsonOf<Chat>(ask('/api/chat', body))).message?.content
  }
  const replies = await Promise.all(Array.from({ length: 64 }, (_, index) => say(index)))
  expect(replies).toEqual(Array.from({ length: 64 }, (_, index) => `you said n${index}`))
})
