import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SessionId } from '../core/ids.ts'
import type { ModelMessage, ModelReply, ModelRequest } from '../core/model.ts'
import { chooseModel } from './choose-model.ts'
import { createModel } from './create-model.ts'
import { listen } from './listen.ts'
import { readOpenAiReply } from './record/read-reply.ts'
import { removeSecrets } from './record/remove-secrets.ts'
import { startRecorder } from './record-proxy.ts'
import { startScriptedServer } from './scripted/scripted-server.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'record-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function requestFor(agent: string, turn: number, messages: ModelMessage[], attempt = 1): ModelRequest {
  const facts = { agent, depth: 0, session: 's' as SessionId, turn, attempt, purpose: 'turn' as const }
  return { system: 'x', messages, tools: [], facts, contextTokens: 4096 }
}

async function modelAt(ref: string, url = '') {
  const { spec } = await chooseModel({ ref, servers: {}, env: { OLLAMA_HOST: url }, rehearsalPath: '' })
  const model = createModel(spec)
  return (request: ModelRequest): Promise<ModelReply> => model.stream(request, () => {}, new AbortController().signal)
}

const secret = `ghp_${'a1B2'.repeat(9)}`

const original = `
model: { context: 8192, parameters: 3B }
rules:
  - when: { turn: 1, attempt: 1, agent: lead }
    reply: { fault: { status: 503, message: busy } }
  - when: { turn: 1, agent: lead }
    reply: { thinking: hm, text: "Literally \\\\{{last}} and ${secret}", calls: [{ tool: read, args: { file_path: a, api_key: k } }] }
  - when: { turn: 2, agent: lead }
    reply: { text: "It says {{last}}." }
  - when: { agent: other }
    reply: { text: other one }
`

test('what passed can be played, in process and without the server', async () => {
  const source = join(folder, 'source.yaml')
  writeFileSync(source, original)
  const server = await startScriptedServer({ path: source })
  const file = join(folder, 'recorded.yaml')
  const recorder = await startRecorder({ target: server.url, file })

  const prompt: ModelMessage = { role: 'user', text: `Read it (quickly?) with TOKEN=${secret} *now*` }
  const history: ModelMessage[] = [
    prompt,
    { role: 'assistant', text: '', calls: [{ id: 'c1', tool: 'read', args: {} }] },
    { role: 'tool', id: 'c1', tool: 'read', output: 'content', isError: false },
  ]
  const asked = [
    requestFor('lead', 1, [prompt], 2),
    requestFor('lead', 2, history),
    requestFor('other', 1, [{ role: 'user', text: 'hi' }]),
  ]
  const real = await modelAt('ollama/x', recorder.url)
  await expect(real(requestFor('lead', 1, [prompt]))).rejects.toMatchObject({ code: 'model-failed', status: 503 })
  const replies: ModelReply[] = []
  for (const request of asked) replies.push(await real(request))
  await recorder.close()
  await server.close()

  expect(replies[0]?.text).toBe(`Literally {{last}} and ${secret}`)
  const text = readFileSync(file, 'utf8')
  expect(text).not.toContain(secret)
  expect(statSync(file).mode & 0o077).toBe(0)

  const played = await modelAt(`scripted:${file}`)
  await expect(played(requestFor('lead', 1, [prompt]))).rejects.toMatchObject({ code: 'model-failed', status: 503 })
  const [first, second, third] = await Promise.all(asked.map(played))
  expect(first).toEqual({
    ...replies[0],
    text: 'Literally {{last}} and [removed]',
    calls: [{ tool: 'read', args: { file_path: 'a', api_key: '[removed]' } }],
  })
  expect(second).toEqual(replies[1])
  expect(third).toEqual(replies[2])
  expect((await played(requestFor('lead', 7, history))).text).toBe('It says content.')
  const { spec } = await chooseModel({ ref: `scripted:${file}`, servers: {}, env: {}, rehearsalPath: '' })
  expect(spec.profile).toMatchObject({ contextTokens: 8192, parameters: 3, tools: true })
})

test('a client that does not number its attempts gets the success, not the fault before it', async () => {
  let asked = 0
  const http = createServer((request, response) => {
    request.resume()
    if (++asked === 1) return response.writeHead(500).end('no')
    response.end(JSON.stringify({ message: { content: 'fine' }, done: true }))
  })
  const target = await listen(http, 0, '127.0.0.1')
  const file = join(folder, 'recorded.yaml')
  const recorder = await startRecorder({ target: target.url, file })
  const body = JSON.stringify({ model: 'x', messages: [{ role: 'user', content: 'hi' }] })
  const headers = { 'content-type': 'application/json', authorization: 'Bearer very-secret-token' }
  for (const status of [500, 200]) {
    const reply = await fetch(`${recorder.url}/api/chat`, { method: 'POST', body, headers })
    expect(reply.status).toBe(status)
    await reply.text()
  }
  await recorder.close()
  await target.close()
  expect(readFileSync(file, 'utf8')).not.toMatch(/very-secret-token|status: 500/)
  const played = await modelAt(`scripted:${file}`)
  expect((await played(requestFor('', 1, [{ role: 'user', text: 'hi' }]))).text).toBe('fine')
})

test('a server that is not there is an error to the client, and nothing is recorded', async () => {
  const source = join(folder, 'source.yaml')
  writeFileSync(source, original)
  const server = await startScriptedServer({ path: source })
  await server.close()
  const file = join(folder, 'recorded.yaml')
  const recorder = await startRecorder({ target: server.url, file })
  const reply = await fetch(`${recorder.url}/api/chat`, { method: 'POST', body: '{}' })
  expect(reply.status).toBe(502)
  expect(await reply.json()).toEqual({ error: expect.stringMatching(/connection refused/) })
  await recorder.close()
  expect(readFileSync(file, 'utf8')).toContain('rules: []')
})

test('calls of OpenAI streams are put together from fragments, and told apart though all have index 0', () => {
  const reply = (calls: object[][]) => {
    const events = calls.map((tool_calls) => ({ choices: [{ delta: { tool_calls } }] }))
    const all = [...events, { choices: [{ delta: {}, finish_reason: 'tool_calls' }] }]
    return readOpenAiReply(`${all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`)
  }
  const call = (id: string, path: string) => ({
    index: 0,
    id,
    function: { name: 'read', arguments: `{"p":"${path}"}` },
  })
  const a = { tool: 'read', args: { p: 'a' } }
  expect(reply([[call('c1', 'a')], [call('c2', 'b')]])?.calls).toEqual([a, { tool: 'read', args: { p: 'b' } }])
  const fragments = [
    [{ index: 0, id: 'c1', function: { name: 'read', arguments: '{"p' } }],
    [{ index: 0, function: { arguments: '":"a"}' } }],
  ]
  expect(reply(fragments)?.calls).toEqual([a])
  expect(readOpenAiReply('data: {"choices":[{"delta":{"content":"half"}}]}\n\n')).toBe(undefined)
})

test.each([
  ['export OPENAI_API_KEY=sk-proj-abcdefghijklmnop1234', 'export OPENAI_API_KEY=[removed]'],
  ['{"password": "hunter2-hunter2"}', '{"password": "[removed]"}'],
  ['curl -H "Authorization: Bearer abc.def-ghi12345"', 'curl -H "Authorization: [removed] [removed]"'],
  ['git clone https://me:hunter22@example.com/x.git', 'git clone https://me:[removed]@example.com/x.git'],
  ['aws AKIAABCDEFGHIJKLMNOP there', 'aws [removed] there'],
  ['-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----', '[removed]'],
  ['The token count is 12; see https://example.com/a:b', 'The token count is 12; see https://example.com/a:b'],
])('of %j stays %j', (text, cleaned) => {
  expect(removeSecrets(text)).toBe(cleaned)
})
