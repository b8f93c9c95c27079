import { RuntimeError } from '../../core/errors.ts'
import type { Model, ModelReply, ModelSpec } from '../../core/model.ts'
import { modelError, refusalError } from '../model-errors.ts'
import { object, string } from '../untyped.ts'
import { toFactHeaders } from '../wire-facts.ts'
import { createReplyCollector, type ReplyCollector } from './collect-reply.ts'
import { OllamaClient, toChatRequest } from './ollama-client.ts'
import { shownAddress } from './server-address.ts'
import { toOllamaBody } from './to-ollama.ts'
import { createWatchdog } from './watchdog.ts'

type OllamaSpec = Extract<ModelSpec, { provider: 'ollama' }>

/** A model on an Ollama server. Keeps nothing between requests but the thread's connections. */
export function createOllamaModel(spec: OllamaSpec): Model {
  return {
    profile: spec.profile,
    async stream(request, onDelta, signal) {
      signal.throwIfAborted()
      const watchdog = createWatchdog(spec.timeouts, signal)
      const offered = spec.profile.tools ? request : { ...request, tools: [] }
      const headers = spec.sendFacts ? toFactHeaders(request.facts) : {}
      const client = new OllamaClient({ url: spec.url, headers, signal: watchdog.signal })
      const body = toOllamaBody(offered, { ...spec, tools: spec.profile.tools })
      const collector = createReplyCollector(offered, onDelta)
      try {
        const chunks = await client.chat(toChatRequest(body))
        return await collect(chunks, collector, watchdog.heard, spec)
      } catch (error) {
        throw explain(error, watchdog.signal, spec)
      } finally {
        watchdog.stop()
      }
    },
  }
}

async function collect(
  chunks: AsyncIterable<object>,
  collector: ReplyCollector,
  heard: () => void,
  { url, name }: OllamaSpec,
): Promise<ModelReply> {
  for await (const chunk of chunks) {
    const fields = object(chunk)
    if ('error' in fields) {
      const text = string(fields.error) || string(object(fields.error).message)
      throw refusalError({ status: 500, text, server: shownAddress(url), model: name })
    }
    if (collector.add(fields)) heard()
    if (collector.done) return collector.finish()
  }
  throw modelError('model-incomplete', `The reply of ${name} broke off: ${shownAddress(url)} closed the connection.`)
}

/** The connection's own errors after the answer began. */
function explain(error: unknown, signal: AbortSignal, { url, name }: OllamaSpec): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof RuntimeError) return error
  const message = `The reply of ${name} broke off: the connection to ${shownAddress(url)} was lost.`
  return modelError('model-incomplete', message, { cause: error })
}
