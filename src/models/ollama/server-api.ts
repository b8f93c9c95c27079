import { RuntimeError } from '../../core/errors.ts'
import { modelError, refusalError } from '../model-errors.ts'
import { array, object, string } from '../untyped.ts'
import { errorText } from './error-text.ts'
import { readText, sendRequest } from './http-request.ts'
import { shownAddress } from './server-address.ts'
import { unreachableError } from './unreachable-error.ts'

/** A model that a server has. `remote`: it runs elsewhere, so what is sent to it leaves the machine. */
export type InstalledModel = { name: string; remote: boolean }

/** What a server knows of one model. A missing number is unknown. */
export type ModelDetails = {
  contextLimit?: number
  /** Billions. */
  parameters?: number
  tools: boolean
  vision: boolean
  remote: boolean
}

/** Newest first, as the server lists them. Throws `model-unreachable` when there is no answer in time. */
export async function listInstalled(url: string, timeoutMs: number): Promise<InstalledModel[]> {
  const tags = await askServer({ url, path: '/api/tags', timeoutMs })
  return array(object(tags).models)
    .map(object)
    .map((entry) => ({ name: string(entry.name) || string(entry.model), remote: isRemote(entry) }))
    .filter(({ name }) => name !== '')
}

/** Throws `model-not-found` or `model-unreachable`. */
export async function showModel(url: string, name: string, timeoutMs: number): Promise<ModelDetails> {
  const body = JSON.stringify({ model: name })
  return readDetails(await askServer({ url, path: '/api/show', body, timeoutMs, model: name }))
}

/** Reads the answer to `/api/show`. */
export function readDetails(answer: unknown): ModelDetails {
  const shown = object(answer)
  const facts = object(shown.model_info)
  const contextLimit = Object.entries(facts).find(([key]) => key.endsWith('.context_length'))?.[1]
  const parameters = parameterCount(facts['general.parameter_count'], string(object(shown.details).parameter_size))
  return {
    ...(typeof contextLimit === 'number' && { contextLimit }),
    ...(parameters !== undefined && { parameters }),
    tools: Array.isArray(shown.capabilities)
      ? shown.capabilities.includes('tools')
      : string(shown.template).includes('.Tools'),
    vision: Array.isArray(shown.capabilities)
      ? shown.capabilities.includes('vision')
      : array(object(shown.details).families).some((family) => visionFamilies.has(string(family))),
    remote: isRemote(shown),
  }
}

/** Servers that report no capabilities name what an image goes through. */
const visionFamilies = new Set(['clip', 'mllama'])

/** Version of the server. */
export async function serverVersion(url: string, timeoutMs: number): Promise<string> {
  return string(object(await askServer({ url, path: '/api/version', timeoutMs })).version)
}

type Question = { url: string; path: string; body?: string; timeoutMs: number; model?: string }

async function askServer({ url, path, body, timeoutMs, model = '' }: Question): Promise<unknown> {
  const server = shownAddress(url)
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(noAnswer(server, timeoutMs)), timeoutMs)
  try {
    const method = body === undefined ? 'GET' : 'POST'
    const response = await sendRequest({ url: `${url}${path}`, method, body, signal: controller.signal })
    const text = await readText(response)
    if (response.statusCode === 200) return JSON.parse(text)
    throw refusalError({ status: response.statusCode ?? 0, text: errorText(text), server, model })
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason
    if (error instanceof RuntimeError) throw error
    throw unreachableError(error, url) ?? notOllama(server, error)
  } finally {
    clearTimeout(timer)
  }
}

function noAnswer(server: string, timeoutMs: number): Error {
  const message = `The model server at ${server} did not answer within ${timeoutMs} ms. Check OLLAMA_HOST, or restart it with: ollama serve`
  return modelError('model-unreachable', message)
}

function notOllama(server: string, cause: unknown): Error {
  const message = `What answers at ${server} is no Ollama server. Check OLLAMA_HOST, or start one with: ollama serve`
  return modelError('model-unreachable', message, { cause })
}

function isRemote(entry: Record<string, unknown>): boolean {
  return string(entry.remote_host) !== '' || string(entry.remote_model) !== ''
}

/** Billions; the exact count if there is one, else the size as shown (`8.2B`). */
function parameterCount(exact: unknown, size: string): number | undefined {
  if (typeof exact === 'number' && exact > 0) return exact / 1e9
  const parts = /^(\d+(?:\.\d+)?)\s*([KMBT])$/i.exec(size.trim())
  if (!parts) return undefined
  const billions = { K: 1e-6, M: 1e-3, B: 1, T: 1e3 }[parts[2]?.toUpperCase() ?? '']
  return billions === undefined ? undefined : Number(parts[1]) * billions
}
