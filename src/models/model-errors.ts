import { RuntimeError } from '../core/errors.ts'

/** What a server said when it refused, and what is needed to explain it. `retryAfter` and `retryAfterMs` are its headers. */
export type Refusal = {
  status: number
  text: string
  server: string
  model: string
  retryAfter?: string
  retryAfterMs?: string
}

/** A failure of a model server. `status` is HTTP's; `retryAfterMs` is how long the server asked to wait. */
export function modelError(
  code: string,
  message: string,
  fields: { status?: number; retryAfterMs?: number; cause?: unknown } = {},
): RuntimeError & { status?: number; retryAfterMs?: number } {
  const { cause, ...own } = fields
  return Object.assign(new RuntimeError(code, message, cause === undefined ? undefined : { cause }), own)
}

/** Prefix of a scripted server's answer to a request that no rule matches; it crosses HTTP as text. */
export const unmatchedPrefix = 'script-unmatched: '

/** What a server of ours answers to a request that it refuses: a status and a text as Ollama would write it. */
export function wireRefusal(status: number, text: string): RuntimeError & { status?: number } {
  return modelError('refused', text, { status })
}

const contextWords = /context (length|size|window|limit)|exceeds?\b.*\bcontext|num_ctx|(prompt|input) (is )?too long/i

/** Translates an answer that is no success. Most telling first: some servers use one status for several causes. */
export function refusalError(refusal: Refusal): RuntimeError {
  const { status, text, server, model } = refusal
  if (text.startsWith(unmatchedPrefix)) {
    return modelError('script-unmatched', text.slice(unmatchedPrefix.length), { status })
  }
  if (text.startsWith('error parsing tool call')) {
    return modelError('model-bad-call', `${model} wrote a tool call that ${server} could not read: ${text}`, { status })
  }
  if ([400, 413, 422, 500].includes(status) && contextWords.test(text)) {
    const remedy = 'Raise contextTokens of this server in troupe.yaml, or start a new session.'
    return modelError('context-too-long', `The prompt does not fit the context of ${model}: ${text}. ${remedy}`, {
      status,
    })
  }
  if (status === 404) return notFound(refusal)
  if (status === 429 || status >= 500) return failed(refusal)
  return refused(refusal)
}

export function modelNotFound(server: string, model: string, installed: readonly string[] = []): RuntimeError {
  const others = installed.length > 0 ? ` Installed: ${installed.join(', ')}.` : ''
  return modelError('model-not-found', `${server} has no model ${model}. Pull it: ollama pull ${model}.${others}`)
}

function notFound({ status, text, server, model }: Refusal): RuntimeError {
  if (/model/i.test(text)) return Object.assign(modelNotFound(server, model), { status })
  const message = `${server} does not know Ollama's API (404: ${text}). Check OLLAMA_HOST, or servers.ollama.url in troupe.yaml.`
  return modelError('model-refused', message, { status })
}

function failed({ status, text, server, model, ...headers }: Refusal): RuntimeError {
  const message = `${server} failed to run ${model} (${status}): ${text}. See the server's log if it happens again.`
  return modelError('model-failed', message, { status, ...waitAsked(headers) })
}

function refused({ status, text, server, model }: Refusal): RuntimeError {
  const remedy =
    status === 401 || status === 403
      ? 'Check the credentials in the address of the server.'
      : 'Check the model and its options (think, tools).'
  return modelError('model-refused', `${server} refused a request for ${model} (${status}): ${text}. ${remedy}`, {
    status,
  })
}

/**
 * Milliseconds in a header of their own, else `Retry-After`: seconds, or a date (RFC 9110, 10.2.3). Anything else and
 * a date that is over say nothing: then our own backoff holds, or all would come back in the same moment.
 */
function waitAsked({ retryAfter = '', retryAfterMs = '' }: Pick<Refusal, 'retryAfter' | 'retryAfterMs'>): {
  retryAfterMs?: number
} {
  const seconds = numberIn(retryAfter)
  const asked = numberIn(retryAfterMs) ?? (seconds === undefined ? untilDate(retryAfter) : seconds * 1000)
  return asked === undefined ? {} : { retryAfterMs: asked }
}

function numberIn(header: string): number | undefined {
  return /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) : undefined
}

/** `Date.parse` alone makes a date of "-5" or "soon 1". */
function untilDate(header: string): number | undefined {
  const isDate = /^\s*[A-Z][a-z]{2,8},? /.test(header) && /\d\d:\d\d:\d\d/.test(header)
  const leftMs = isDate ? Date.parse(header) - Date.now() : 0
  return leftMs > 0 ? leftMs : undefined
}
