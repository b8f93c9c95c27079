import { writeFileSync } from 'node:fs'
import { createServer, request as sendOn } from 'node:http'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
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

/** Serves a script as Ollama and notes every chat request on its way; the options connect a runtime to it. `rewrite` has it play another. */
export async function overhear(workplace: Workplace, script: Script) {
  const requests: Overheard[] = []
  const path = workplace.script(script)
  const server = await startScriptedServer({ path })
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString('utf8')
    if (request.url === '/api/chat') requests.push(parsed(body, request.headers))
    const { method, url, headers } = request
    const onward = sendOn(`${server.url}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.on('error', () => response.destroy()).pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.once('close', () => onward.destroy())
    onward.end(body)
  })
  const running = await listen(proxy, 0, '127.0.0.1')
  onTestFinished(async () => {
    await running.close()
    await server.close()
  })
  const env = { ...workplace.env, OLLAMA_HOST: running.url }
  const rewrite = (other: Script) => writeFileSync(path, stringify(other))
  return { requests, options: { model: 'ollama/scripted', env }, rewrite }
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
