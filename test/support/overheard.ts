import { createServer } from 'node:http'
import { onTestFinished } from 'vitest'
import { listen } from '../../src/models/listen.ts'
import { startScriptedServer } from '../../src/models/scripted/scripted-server.ts'
import type { Script, Workplace } from './workplace.ts'

type Message = { role: string; content: string; tool_calls?: object[] }

/** One request to a model as it went over the wire. */
export type Overheard = {
  agent: string
  session: string
  purpose: string
  /** The whole body. */
  body: string
  /** The context that was asked for. */
  numCtx: number
  messages: Message[]
  tools: { function: { name: string; parameters: { properties?: object } } }[]
  /** The job board's text; empty when none was sent. */
  board: string
}

/** Serves a script as Ollama and notes every chat request on its way; the options connect a runtime to it. */
export async function overhear(workplace: Workplace, script: Script) {
  const requests: Overheard[] = []
  const server = await startScriptedServer({ path: workplace.script(script) })
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString('utf8')
    if (request.url === '/api/chat') requests.push(parsed(body, request.headers))
    const { method = 'GET' } = request
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    delete headers['content-length']
    delete headers['transfer-encoding']
    const answer = await fetch(`${server.url}${request.url}`, { method, headers, ...(body && { body }) })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  const running = await listen(proxy, 0, '127.0.0.1')
  onTestFinished(async () => {
    await running.close()
    await server.close()
  })
  const env = { ...workplace.env, OLLAMA_HOST: running.url }
  return { requests, options: { model: 'ollama/scripted', env } }
}

type Body = { messages: Message[]; tools?: Overheard['tools']; options: { num_ctx: number } }

function parsed(body: string, headers: Record<string, unknown>): Overheard {
  const { messages, tools = [], options } = JSON.parse(body) as Body
  const last = messages.at(-1)?.content ?? ''
  return {
    agent: String(headers['x-troupe-agent']),
    session: String(headers['x-troupe-session']),
    purpose: String(headers['x-troupe-purpose']),
    body,
    numCtx: options.num_ctx,
    messages,
    tools,
    board: last.startsWith('<job-board>') ? last : '',
  }
}

/** Tokens of what the model reads of a request, at four characters each. */
export function tokensSent({ messages, tools }: Overheard): number {
  const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls)
  const texts = messages.reduce((sum, { content }) => sum + content.length, 0)
  return Math.ceil((texts + lengthOf(calls) + lengthOf(tools)) / 4)
}

function lengthOf(values: readonly object[]): number {
  return values.reduce((sum, value) => sum + JSON.stringify(value).length, 0)
}
