import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { urlToHttpOptions } from 'node:url'

/** `signal` must abort with the reason to reject with. */
export type HttpRequest = {
  url: string
  method: string
  headers?: Record<string, string>
  body?: string | Buffer
  signal: AbortSignal
}

/**
 * One request over node:http, whose connections are kept. A thread's first `fetch` costs several times as much, because
 * it loads a second HTTP client, and that client gives up after five minutes of silence. Resolves at the response's head;
 * after an abort the response's stream fails as well.
 */
export async function sendRequest(request: HttpRequest): Promise<IncomingMessage> {
  try {
    return await sendOnce(request)
  } catch (error) {
    // A kept connection that the server closed just as we used it: nothing was read of the request.
    if (error instanceof StaleConnection && !request.signal.aborted) return sendOnce(request)
    throw error instanceof StaleConnection ? error.cause : error
  }
}

/** The whole body as text, at most about 16 megabytes of it. */
export async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response) {
    chunks.push(chunk as Buffer)
    length += (chunk as Buffer).length
    if (length > 16_000_000) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

class StaleConnection extends Error {}

async function sendOnce({ url, method, headers, body, signal }: HttpRequest): Promise<IncomingMessage> {
  signal.throwIfAborted()
  const { send, agent } = await transportFor(url)
  // Encoded once: for its length, and for the socket.
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return new Promise((resolve, reject) => {
    const request = send({ ...targetOf(url), method, agent, headers: { ...bodyHeaders(bytes), ...headers } })
    const stop = () => request.destroy()
    signal.addEventListener('abort', stop, { once: true })
    request.on('response', (response) => {
      response.once('close', () => signal.removeEventListener('abort', stop))
      resolve(response)
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', stop)
      if (signal.aborted) return reject(signal.reason)
      const stale = request.reusedSocket && error.code === 'ECONNRESET'
      reject(stale ? new StaleConnection(error.message, { cause: error }) : error)
    })
    request.end(bytes)
  })
}

/** A program asks few addresses, and each of them often. */
const targets = new Map<string, RequestOptions>()

function targetOf(url: string): RequestOptions {
  const target = targets.get(url) ?? urlToHttpOptions(new URL(url))
  targets.set(url, target)
  return target
}

function bodyHeaders(body: Buffer | undefined): Record<string, string | number> {
  if (body === undefined) return {}
  return { 'content-type': 'application/json', 'content-length': body.length }
}

type Transport = { send(options: RequestOptions): ClientRequest; agent: Agent }

const plain: Transport = { send: httpRequest, agent: new Agent({ keepAlive: true }) }
let secure: Promise<Transport> | undefined

async function transportFor(url: string): Promise<Transport> {
  if (!url.startsWith('https:')) return plain
  secure ??= import('node:https').then(({ Agent: SecureAgent, request }) => ({
    send: request,
    agent: new SecureAgent({ keepAlive: true }),
  }))
  return secure
}
