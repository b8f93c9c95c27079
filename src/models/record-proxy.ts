import { rename, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { messageOf } from '../core/errors.ts'
import { listen, type RunningServer } from './listen.ts'
import { errorText } from './ollama/error-text.ts'
import { sendRequest } from './ollama/http-request.ts'
import { parseServerAddress, shownAddress } from './ollama/server-address.ts'
import { readDetails } from './ollama/server-api.ts'
import { unreachableError } from './ollama/unreachable-error.ts'
import { readOllamaReply, readOpenAiReply } from './record/read-reply.ts'
import { createRecording, type Recording } from './record/recording.ts'
import { readOllamaBody } from './scripted/ollama-body.ts'
import { readOpenAiBody } from './scripted/openai-body.ts'

/**
 * Stands between a client and a real model server, and writes what passes as a script, after each reply: `file` can be
 * played by `scripted:FILE`. Headers are never written, keys and tokens are removed. `port` missing takes a free one.
 */
export async function startRecorder(options: { target: string; port?: number; file: string }): Promise<RunningServer> {
  const target = parseServerAddress(options.target)
  const recording = createRecording()
  const saver = createSaver(options.file, recording)
  await saver.save()
  const server = createServer((request, response) => {
    handle({ request, response, target }, recording, saver.save).catch((error) => refuse(response, target, error))
  })
  const running = await listen(server, options.port ?? 0, '127.0.0.1')
  return {
    url: running.url,
    async close() {
      await running.close()
      await saver.save()
    },
  }
}

/** One at a time, and whole: a reader never sees half a script. */
function createSaver(file: string, recording: Recording): { save(): Promise<void> } {
  let saving = Promise.resolve()
  return {
    save() {
      saving = saving.then(async () => {
        await writeFile(`${file}.part`, recording.toYaml(), { mode: 0o600 })
        await rename(`${file}.part`, file)
      })
      return saving
    },
  }
}

type Exchange = { request: IncomingMessage; response: ServerResponse; target: string }

async function handle(exchange: Exchange, recording: Recording, save: () => Promise<void>): Promise<void> {
  const passed = await passOn(exchange)
  if (passed && record(recording, passed)) await save()
}

type Passed = {
  path: string
  headers: IncomingHttpHeaders
  asked: string
  status: number
  retryAfter?: string
  answered: string
}

/** Undefined when the client went away before the end. */
async function passOn({ request, response, target }: Exchange): Promise<Passed | undefined> {
  const body = await readAll(request)
  const gone = new AbortController()
  response.once('close', () => gone.abort(new Error('The client hung up.')))
  const path = request.url ?? '/'
  const answer = await sendRequest({
    url: `${target}${path}`,
    method: request.method ?? 'GET',
    headers: passedHeaders(request.headers),
    ...(body.length > 0 && { body }),
    signal: gone.signal,
  })
  response.writeHead(answer.statusCode ?? 502, passedHeaders(answer.headers))
  const chunks: Buffer[] = []
  try {
    for await (const chunk of answer) {
      chunks.push(chunk as Buffer)
      response.write(chunk)
    }
  } catch {
    // Half a reply, or nobody left to read it: pass on the break, record nothing.
    response.destroy()
    return undefined
  }
  response.end()
  return {
    path: path.split('?')[0] ?? path,
    headers: request.headers,
    asked: body.toString('utf8'),
    status: answer.statusCode ?? 502,
    retryAfter: answer.headers['retry-after'],
    answered: Buffer.concat(chunks).toString('utf8'),
  }
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Those of one connection stay with it; a compressed reply could not be read here. */
const ownHeaders = new Set(['host', 'connection', 'keep-alive', 'transfer-encoding', 'accept-encoding', 'expect'])

function passedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (!ownHeaders.has(name) && value !== undefined) passed[name] = value.toString()
  }
  return passed
}

/** True if there is something new to write. */
function record(recording: Recording, { path, headers, asked, status, retryAfter, answered }: Passed): boolean {
  if (path === '/api/show' && status === 200) {
    recording.describe(readDetails(parse(answered)))
    return true
  }
  const openAi = path === '/v1/chat/completions'
  if (!openAi && path !== '/api/chat') return false
  const body = parse(asked)
  const { request } = openAi ? readOpenAiBody(body, headers, 0) : readOllamaBody(body, headers)
  if (status !== 200) {
    const seconds = Number(retryAfter ?? Number.NaN)
    const fault = { status, message: errorText(answered), ...(seconds >= 0 && { retryAfter: seconds }) }
    if (status >= 400) recording.add(request, fault)
    return status >= 400
  }
  const reply = openAi ? readOpenAiReply(answered) : readOllamaReply(answered)
  if (reply) recording.add(request, reply)
  return reply !== undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The server has judged it already; there is nothing in it for us.
    return undefined
  }
}

function refuse(response: ServerResponse, target: string, error: unknown): void {
  if (response.headersSent || response.destroyed) return void response.destroy()
  const text = messageOf(unreachableError(error, target) ?? error)
  response.writeHead(502, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: `troupe record cannot reach ${shownAddress(target)}: ${text}` }))
}
