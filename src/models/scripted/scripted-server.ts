import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { messageOf, RuntimeError } from '../../core/errors.ts'
import { listen, type RunningServer } from '../listen.ts'
import { unmatchedPrefix, wireRefusal } from '../model-errors.ts'
import { object, string } from '../untyped.ts'
import { type Answer, answerRequest } from './answer.ts'
import { listLoaded, listModels, listOpenAiModels, showModel } from './describe-model.ts'
import { type Dialect, ollamaDialect, openAiDialect } from './dialect.ts'
import { createImitation, type ImitatedLoad, type Imitation, promptText } from './imitation.ts'
import { type ReceivedRequest, readOllamaBody } from './ollama-body.ts'
import { readOpenAiBody } from './openai-body.ts'
import { loadScript } from './script-file.ts'
import type { Script } from './script-schema.ts'
import { faultText } from './scripted-model.ts'
import { serveAnswer } from './serve-answer.ts'

/**
 * Serves a script as Ollama and as OpenAI. `port` 0 or missing takes a free one. Throws `bad-script` or `port-in-use`.
 * The script's file is read again when it has changed.
 */
export async function startScriptedServer(options: {
  path: string
  port?: number
  host?: string
}): Promise<ScriptedServer> {
  loadScript(options.path)
  const stage = createStage(options.path)
  const server = createServer((request, response) => void stage.serve(request, response))
  server.keepAliveTimeout = 60_000
  const running = await listen(server, options.port ?? 0, options.host ?? '127.0.0.1')
  return { ...running, load: stage.load }
}

/** `load` tells what the imitated server has read so far. */
export type ScriptedServer = RunningServer & { load(): ImitatedLoad }

/** What all requests to one server share. */
type Stage = {
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>
  load(): ImitatedLoad
}

type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  script: Script
  imitation: Imitation
  body: unknown
}

function createStage(path: string): Stage {
  let played: Script | undefined
  let imitation: Imitation | undefined
  let loadedNumCtx: number | undefined

  function current(): { script: Script; imitation: Imitation } {
    const script = loadScript(path)
    if (script !== played || !imitation) imitation = createImitation(script.server)
    played = script
    return { script, imitation }
  }

  async function chat(exchange: Exchange, received: ReceivedRequest, dialect: Dialect): Promise<void> {
    const { response, script, imitation } = exchange
    const { model, request } = received
    checkModel(script, model)
    if (!script.model.tools && request.tools.length > 0) throw wireRefusal(400, `${model} does not support tools`)
    const answer = answerRequest(script, request)
    const { signal, stop } = whileConnected(response)
    loadedNumCtx = request.contextTokens
    const prompt = {
      tokens: answer.usage.inputTokens,
      numCtx: request.contextTokens,
      truncate: received.truncate,
      text: script.server?.prefillTps ? promptText(request) : '',
    }
    const admission = await imitation.admit(prompt, signal)
    try {
      if (answer.fault?.status !== undefined) return sendStatusFault(exchange, answer)
      await serveAnswer({ answer, admission, imitation, dialect, stream: received.stream, response, signal })
    } finally {
      admission.leave()
      stop()
    }
  }

  const routes: Record<string, (exchange: Exchange) => void | Promise<void>> = {
    'GET /': ({ response }) => void response.end('Ollama is running'),
    'HEAD /': ({ response }) => void response.end(),
    'GET /api/version': ({ response }) => sendJson(response, 200, { version: '0.12.0' }),
    'GET /api/tags': ({ response, script }) => sendJson(response, 200, listModels(script)),
    'GET /api/ps': ({ response, script }) => sendJson(response, 200, listLoaded(script, loadedNumCtx)),
    'GET /v1/models': ({ response, script }) => sendJson(response, 200, listOpenAiModels(script)),
    'POST /api/show': ({ response, script, body }) => {
      const { model, name } = object(body)
      checkModel(script, string(model) || string(name))
      sendJson(response, 200, showModel(script))
    },
    'POST /api/chat': (exchange) => {
      const received = readOllamaBody(exchange.body, exchange.request.headers)
      return chat(exchange, received, ollamaDialect(received.model))
    },
    'POST /v1/chat/completions': (exchange) => {
      const { body, request, script } = exchange
      const received = readOpenAiBody(body, request.headers, script.model.context)
      return chat(exchange, received, openAiDialect(received.model, received.includeUsage))
    },
  }

  return {
    load: () => ({ ...(imitation ?? createImitation(undefined)).load }),
    async serve(request, response) {
      const path = request.url?.split('?')[0] ?? '/'
      try {
        const body = await readBody(request)
        const route = routes[`${request.method} ${path}`]
        if (!route) return sendJson(response, 404, { error: `404 page not found: ${request.method} ${path}` })
        await route({ request, response, ...current(), body })
      } catch (error) {
        sendError(request, response, error)
      }
    },
  }
}

function checkModel({ model }: Script, name: string): void {
  if (model.name === undefined || name === model.name || `${name}:latest` === model.name) return
  throw wireRefusal(404, `model '${name}' not found`)
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  if (chunks.length === 0) return undefined
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (error) {
    throw wireRefusal(400, `the body is no JSON: ${messageOf(error)}`)
  }
}

/** Aborts when the client hangs up before the answer is complete. */
function whileConnected(response: ServerResponse): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController()
  const hangUp = () => controller.abort(new RuntimeError('client-gone', 'The client hung up.'))
  response.once('close', hangUp)
  return { signal: controller.signal, stop: () => void response.off('close', hangUp) }
}

function sendStatusFault({ request, response }: Exchange, { fault }: Answer): void {
  const status = fault?.status ?? 500
  if (fault?.retryAfter !== undefined) response.setHeader('retry-after', String(fault.retryAfter))
  sendJson(response, status, errorBody(request.url, fault?.message ?? faultText(status), 'fault'))
}

function sendError({ url }: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) return void response.destroy()
  const code = error instanceof RuntimeError ? error.code : 'internal'
  const status = error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 0
  const text = code === 'script-unmatched' ? unmatchedPrefix + messageOf(error) : messageOf(error)
  sendJson(response, status || (code === 'script-unmatched' ? 400 : 500), errorBody(url, text, code))
}

function errorBody(url: string | undefined, text: string, code: string): object {
  return url?.startsWith('/v1/') ? { error: { message: text, type: 'invalid_request_error', code } } : { error: text }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}
