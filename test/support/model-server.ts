import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Config } from '../../src/core/config.ts'
import type { TroupeOptions } from '../../src/index.ts'
import { listen } from '../../src/models/listen.ts'
import { done, said, sendChunks } from '../../src/models/ollama/fixtures/fake-server.ts'
import { createStage, createWorkplace, type Stage, type Workplace } from './workplace.ts'

export type SentMessage = {
  role: string
  content: string
  /** Base64. */
  images?: string[]
  tool_name?: string
  tool_calls?: { id: string; function: { name: string; arguments: Record<string, unknown> } }[]
}

/** A request to `/api/chat`, with what its headers say of who asks. */
export type Asked = {
  agent: string
  depth: number
  session: string
  turn: number
  attempt: number
  messages: SentMessage[]
  at: number
  /** It has been answered to the end, or the connection was closed. */
  closed: Promise<void>
}

export type ModelServer = { url: string; asked: Asked[]; close(): Promise<void> }

/** `nth` counts the requests from 1. */
export type AnswerChat = (response: ServerResponse, asked: Asked, nth: number) => void

/** An Ollama server that says what `answer` writes, byte by byte if need be; closed after the test. */
export async function startModelServer(
  answer: AnswerChat,
  capabilities = ['completion', 'tools'],
): Promise<ModelServer> {
  const described = { capabilities, model_info: { 'x.context_length': 32_768 } }
  const asked: Asked[] = []
  const sockets = new Set<Socket>()
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await readBody(request)) || '{}')
    if (request.url !== '/api/chat') return response.end(JSON.stringify(described))
    asked.push(readAsked(request, response, body.messages))
    answer(response, asked.at(-1)!, asked.length)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const running = await listen(server, 0, '127.0.0.1')
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await running.close()
  }
  onTestFinished(close)
  return { url: running.url, asked, close }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function readAsked(request: IncomingMessage, response: ServerResponse, messages: SentMessage[]): Asked {
  const header = (name: string) => String(request.headers[`x-troupe-${name}`])
  return {
    agent: header('agent'),
    depth: Number(header('depth')),
    session: header('session'),
    turn: Number(header('turn')),
    attempt: Number(header('attempt')),
    messages,
    at: performance.now(),
    closed: new Promise((resolve) => response.once('close', () => resolve())),
  }
}

export type ModelStage = Stage & { workplace: Workplace }

/** A runtime whose model `ollama/x` is this server. `entry` is its configuration. */
export async function createModelStage(
  server: Pick<ModelServer, 'url'>,
  { entry = {}, ...options }: TroupeOptions & { entry?: Config['servers'][string] } = {},
  workplace = createWorkplace(),
): Promise<ModelStage> {
  const config = { ...options.config, servers: { ollama: { url: server.url, slots: 64, ...entry } } }
  return { ...(await createStage(workplace, 'ollama/x', { ...options, config })), workplace }
}

export function sayText(response: ServerResponse, text: string): void {
  sendChunks(response, [said({ content: text }), done])
}

export function sayCalls(response: ServerResponse, ...calls: [tool: string, args: unknown][]): void {
  const made = calls.map(([name, args]) => ({ function: { name, arguments: args } }))
  sendChunks(response, [said({ tool_calls: made }), done])
}

/** One line of a reply that goes on. */
export function line(value: object): string {
  return `${JSON.stringify(value)}\n`
}

export function refuse(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, headers).end(JSON.stringify({ error: text }))
}

export { done, said }
