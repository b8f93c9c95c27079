import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { chooseModel } from './choose-model.ts'
import { listen, type RunningServer } from './listen.ts'
import { parseServerAddress } from './ollama/server-address.ts'

const rehearsalPath = fileURLToPath(new URL('../../examples/rehearsal.yaml', import.meta.url))

let server: RunningServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

type Installed = { name: string; remote_host?: string; show?: object }

/** A server that has these models; resolves with how to ask for it. */
async function serverWith(installed: Installed[]) {
  const http = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    response.setHeader('content-type', 'application/json')
    if (request.url === '/api/tags') {
      const models = installed.map(({ name, remote_host }) => ({ name, ...(remote_host && { remote_host }) }))
      return response.end(JSON.stringify({ models }))
    }
    const { model } = JSON.parse(body)
    const found = installed.find(({ name }) => name === model)
    if (!found) return response.writeHead(404).end(JSON.stringify({ error: `model '${model}' not found` }))
    response.end(JSON.stringify(found.show ?? {}))
  })
  server = await listen(http, 0, '127.0.0.1')
  return { servers: {}, env: { OLLAMA_HOST: server.url.replace('http://', '') }, rehearsalPath }
}

const able = {
  capabilities: ['completion', 'tools'],
  details: { parameter_size: '8.2B' },
  model_info: {
    'general.architecture': 'qwen3',
    'qwen3.context_length': 40_960,
    'general.parameter_count': 8_190_735_360,
  },
}

describe('a model that was asked for', () => {
  test('is described by its server', async () => {
    const question = await serverWith([{ name: 'qwen3:8b', show: able }])
    const { spec, slots, note } = await chooseModel({ ...question, ref: 'ollama/qwen3:8b' })
    expect(spec).toMatchObject({
      provider: 'ollama',
      url: server?.url,
      name: 'qwen3:8b',
      profile: { ref: 'ollama/qwen3:8b', contextTokens: 16_384, tools: true },
      keepAliveSeconds: 1800,
      sendFacts: true,
    })
    expect(spec.profile.parameters).toBeCloseTo(8.19, 2)
    expect({ slots, note }).toEqual({ slots: 1, note: undefined })
  })

  test('gets the context size that is configured, but never more than it can take', async () => {
    const small = { ...able, model_info: { 'llama.context_length': 8192 } }
    const question = await serverWith([
      { name: 'big', show: able },
      { name: 'small', show: small },
    ])
    const contextOf = async (ref: string, contextTokens?: number) => {
      const servers = { ollama: { ...(contextTokens && { contextTokens }), slots: 3 } }
      const { spec, slots } = await chooseModel({ ...question, servers, ref })
      expect(slots).toBe(3)
      return spec.profile.contextTokens
    }
    expect(await contextOf('ollama/small')).toBe(8192)
    expect(await contextOf('ollama/big', 32_768)).toBe(32_768)
    expect(await contextOf('ollama/small', 32_768)).toBe(8192)
  })

  test('and is not there is an error with the remedy and what is there', async () => {
    const question = await serverWith([{ name: 'qwen3:8b', show: able }])
    const error = await chooseModel({ ...question, ref: 'ollama/hf.co/x/y:q4' }).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'model-not-found' })
    expect(error.message).toContain('ollama pull hf.co/x/y:q4')
    expect(error.message).toContain('Installed: qwen3:8b')
  })

  test('on a server that is not there is an error that names OLLAMA_HOST', async () => {
    const question = await serverWith([])
    await server?.close()
    const error = await chooseModel({ ...question, ref: 'ollama/x' }).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'model-unreachable' })
    expect(error.message).toMatch(/OLLAMA_HOST/)
  })

  test('runs elsewhere or cannot call tools: it is taken, with a note', async () => {
    const question = await serverWith([
      { name: 'cloud', show: { ...able, remote_host: 'https://ollama.com' } },
      { name: 'old' },
    ])
    expect((await chooseModel({ ...question, ref: 'ollama/cloud' })).note).toMatch(/another machine/)
    expect(await chooseModel({ ...question, ref: 'ollama/old' })).toMatchObject({
      spec: { profile: { tools: false } },
      note: expect.stringMatching(/cannot call tools/),
    })
  })

  test('on the OpenAI address of a server is asked over its own API, with a note', async () => {
    const question = await serverWith([{ name: 'x', show: able }])
    const { spec, note } = await chooseModel({
      ...question,
      servers: { gpu: { url: `${server?.url}/v1` } },
      ref: 'gpu/x',
    })
    expect(spec).toMatchObject({ url: server?.url, profile: { ref: 'gpu/x' } })
    expect(note).toMatch(/num_ctx cannot be sent/)
  })

  test.each(['qwen3:8b', 'ollama/', 'openai/gpt', ''])(
    'as "%s" is an error that shows how to write it',
    async (ref) => {
      const error = await chooseModel({ ref, servers: {}, env: {}, rehearsalPath }).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'bad-model' })
      expect(error.message).toMatch(/ollama\/NAME or scripted:FILE/)
    },
  )
})

describe('without a wish', () => {
  test('the first local model that can call tools is taken, never a remote one', async () => {
    const question = await serverWith([
      { name: 'cloud', remote_host: 'https://ollama.com', show: able },
      { name: 'hidden-cloud', show: { ...able, remote_host: 'https://ollama.com' } },
      { name: 'embedder', show: { capabilities: ['embedding'] } },
      { name: 'qwen3:8b', show: able },
      { name: 'other', show: able },
    ])
    expect((await chooseModel(question)).spec).toMatchObject({ provider: 'ollama', name: 'qwen3:8b' })
  })

  test('with no such model the rehearsal plays, and says why', async () => {
    const question = await serverWith([{ name: 'cloud', remote_host: 'https://ollama.com', show: able }])
    const { spec, slots, note } = await chooseModel(question)
    expect(spec).toMatchObject({ provider: 'scripted', path: rehearsalPath, profile: { tools: true } })
    expect(slots).toBe(null)
    expect(note).toMatch(/rehearsal.*ollama pull/)
    expect(note).not.toContain('\n')
  })

  test('with no server, or one that never answers, it does too', async () => {
    const question = await serverWith([])
    await server?.close()
    expect((await chooseModel(question)).note).toMatch(/connection refused.*ollama serve/)
    server = await listen(
      createServer(() => {}),
      0,
      '127.0.0.1',
    )
    expect((await chooseModel({ ...question, env: { OLLAMA_HOST: server.url } })).note).toMatch(/did not answer/)
  })
})

test.each([
  [undefined, 'http://127.0.0.1:11434'],
  ['', 'http://127.0.0.1:11434'],
  [' "example.com" ', 'http://example.com:11434'],
  ['example.com:1234', 'http://example.com:1234'],
  [':1234', 'http://127.0.0.1:1234'],
  ['0.0.0.0', 'http://127.0.0.1:11434'],
  ['0.0.0.0:1234', 'http://127.0.0.1:1234'],
  ['[::]:1234', 'http://[::1]:1234'],
  ['::1', 'http://[::1]:11434'],
  ['[::1]', 'http://[::1]:11434'],
  ['http://example.com', 'http://example.com:80'],
  ['https://example.com', 'https://example.com:443'],
  ['https://example.com/ollama/', 'https://example.com:443/ollama'],
  ['http://0.0.0.0:1', 'http://127.0.0.1:1'],
  ['example.com:nonsense', 'http://example.com:11434'],
  ['example.com:66000', 'http://example.com:11434'],
  ['http://me:secret@example.com:1/', 'http://me:secret@example.com:1'],
])('OLLAMA_HOST %s means %s', (value, address) => {
  expect(parseServerAddress(value)).toBe(address)
})

test.each([
  'ftp://x',
  'ws://example.com:1',
  'http:/example.com',
  'http:example.com',
  'http://',
  'https:///',
  'http://http://example.com',
  'http//example.com',
  '//example.com',
  '/example.com',
  'example.com//x',
  'example.com?x',
  'http://example.com#x',
  'two words',
  'http://two words:1',
  'a,b',
  '[::1',
  '[nonsense]:1',
  'C:\\models',
  '999.1.1.1',
])('OLLAMA_HOST %s is no address', async (value) => {
  expect(() => parseServerAddress(value)).toThrow(
    /^".*" is no address of a server. Use host:port or http:\/\/host:port.$/,
  )
  const question = { servers: {}, env: { OLLAMA_HOST: value }, rehearsalPath: 'examples/rehearsal.yaml' }
  await expect(chooseModel(question)).rejects.toMatchObject({ code: 'bad-server-address' })
})

test('a password does not show in the complaint about an address', () => {
  expect(() => parseServerAddress('ftp://me:secret@x')).toThrow(/^"ftp:\/\/x" is no address/)
})
