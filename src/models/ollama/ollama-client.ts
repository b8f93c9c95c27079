import type { IncomingMessage } from 'node:http'
import { type AbortableAsyncIterator, type ChatRequest, Ollama } from 'ollama/browser'
import { modelError, refusalError } from '../model-errors.ts'
import { string } from '../untyped.ts'
import { errorText } from './error-text.ts'
import { readText, sendRequest } from './http-request.ts'
import { readJsonLines } from './json-lines.ts'
import { requestText } from './request-text.ts'
import { shownAddress } from './server-address.ts'
import { unreachableError } from './unreachable-error.ts'

/** What one request needs besides its body. */
export type Connection = { url: string; headers: Record<string, string>; signal: AbortSignal }

/**
 * The `ollama` package over our own transport. Its own looks up `globalThis.Headers`, which loads Node's second HTTP
 * client in each thread (37 ms), prints to the console, and can abort a stream only once that has begun. One client per
 * request, so that aborting it touches no other; the connections below are shared by the thread.
 */
export class OllamaClient extends Ollama {
  readonly #connection: Connection

  constructor(connection: Connection) {
    super({ host: connection.url })
    this.#connection = connection
  }

  protected override async processStreamableRequest<T extends object>(
    endpoint: string,
    request: { stream?: boolean } & Record<string, unknown>,
  ): Promise<AbortableAsyncIterator<T>> {
    const { url, headers, signal } = this.#connection
    const body = requestText(request)
    const sent = sendRequest({ url: `${url}/api/${endpoint}`, method: 'POST', headers, body, signal })
    const response = await sent.catch((error) => failBeforeAnswer(error, url, signal))
    if (response.statusCode !== 200) throw await refused(response, url, string(request.model))
    return readJsonLines(response) as unknown as AbortableAsyncIterator<T>
  }
}

/** The request as the package types it, and the fields that it does not know yet. */
export function toChatRequest(body: object): ChatRequest & { stream: true } {
  return { ...body, stream: true } as unknown as ChatRequest & { stream: true }
}

function failBeforeAnswer(error: unknown, url: string, signal: AbortSignal): never {
  if (signal.aborted) throw signal.reason
  const lost = `${shownAddress(url)} closed the connection before it answered. See the server's log if it happens again.`
  throw unreachableError(error, url) ?? modelError('model-failed', lost, { cause: error })
}

async function refused(response: IncomingMessage, url: string, model: string): Promise<Error> {
  const text = errorText(await readText(response))
  const server = shownAddress(url)
  const retryAfter = response.headers['retry-after']
  const retryAfterMs = response.headers['retry-after-ms']?.toString()
  return refusalError({ status: response.statusCode ?? 0, text, server, model, retryAfter, retryAfterMs })
}
