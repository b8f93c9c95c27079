import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../core/config.ts'
import { messageOf, RuntimeError } from '../core/errors.ts'
import type { ModelSpec } from '../core/model.ts'
import { modelNotFound } from './model-errors.ts'
import { isLoopback, parseServerAddress, shownAddress } from './ollama/server-address.ts'
import { listInstalled, type ModelDetails, showModel } from './ollama/server-api.ts'

/** `ref`: `provider/name` or `scripted:FILE`; missing: whatever is there. `env` is read for OLLAMA_HOST. */
export type ModelQuestion = {
  ref?: string
  servers: Config['servers']
  env: Readonly<Record<string, string | undefined>>
  rehearsalPath: string
}

/** `slots` null: any number of requests at once. `note`: one line for a person on how the model was chosen. */
export type ChosenModel = { spec: ModelSpec; slots: number | null; note?: string }

const defaultContextTokens = 16_384
const probeMs = 1500
const askMs = 10_000
const keepAliveSeconds = 30 * 60
const defaultFirstByteMs = 900_000
const defaultSilenceMs = 600_000

/**
 * Finds the model to run. Throws `bad-model`, `bad-script`, `model-not-found` or `model-unreachable` for one that was
 * asked for, and `bad-server-address`; with no wish it fails by nothing else: the rehearsal script is always there.
 */
export async function chooseModel(question: ModelQuestion): Promise<ChosenModel> {
  const { ref } = question
  if (ref === undefined) return chooseAny(question)
  if (ref.startsWith('scripted:')) return chooseScript(ref.slice('scripted:'.length), question)
  const [provider = '', ...rest] = ref.split('/')
  const name = rest.join('/')
  if (name === '' || !(provider === 'ollama' || question.servers[provider]?.url)) throw badModel(ref, question)
  const server = findServer(provider, question)
  return choose(server, name, await showNamed(server, name))
}

type ServerEntry = Config['servers'][string]

type Server = { provider: string; url: string; entry: ServerEntry; note?: string }

function findServer(provider: string, { servers, env }: ModelQuestion): Server {
  const entry: ServerEntry = servers[provider] ?? {}
  const address = parseServerAddress(entry.url ?? env.OLLAMA_HOST)
  const url = address.replace(/\/v1$/, '')
  if (url === address) return { provider, url, entry }
  // The OpenAI form of the API has no way to ask for a context size: prompts would be cut in silence.
  const note = `${shownAddress(address)} is the server's OpenAI address, where num_ctx cannot be sent: using ${shownAddress(url)}/api.`
  return { provider, url, entry, note }
}

async function showNamed({ url }: Server, name: string): Promise<ModelDetails> {
  try {
    return await showModel(url, name, askMs)
  } catch (error) {
    if (!(error instanceof RuntimeError) || error.code !== 'model-not-found') throw error
    const installed = await listInstalled(url, askMs).catch(() => [])
    throw modelNotFound(
      shownAddress(url),
      name,
      installed.map((model) => model.name),
    )
  }
}

function choose(server: Server, name: string, details: ModelDetails): ChosenModel {
  const { provider, url, entry } = server
  const limit = details.contextLimit ?? Number.POSITIVE_INFINITY
  const spec: ModelSpec = {
    provider: 'ollama',
    url,
    name,
    profile: {
      ref: `${provider}/${name}`,
      contextTokens: Math.min(entry.contextTokens ?? defaultContextTokens, limit),
      ...(details.parameters !== undefined && { parameters: details.parameters }),
      tools: details.tools,
      vision: details.vision,
    },
    keepAliveSeconds,
    timeouts: {
      firstByteMs: entry.firstByteMs ?? defaultFirstByteMs,
      silenceMs: entry.silenceMs ?? defaultSilenceMs,
    },
    sendFacts: isLoopback(url) || entry.url !== undefined,
  }
  const notes = [
    server.note,
    !details.tools && `${name} cannot call tools: it can only talk.`,
    details.remote && `${name} runs on another machine: what it reads leaves this one.`,
  ].filter((note) => typeof note === 'string')
  return { spec, slots: entry.slots ?? 1, ...(notes.length > 0 && { note: notes.join(' ') }) }
}

async function chooseAny(question: ModelQuestion): Promise<ChosenModel> {
  let why: string
  const server = findServer('ollama', question)
  try {
    const found = await firstUsable(server)
    if (found) return choose(server, found.name, found.details)
    why = `No installed model at ${shownAddress(server.url)} can call tools on this machine. Install one: ollama pull qwen3:8b`
  } catch (error) {
    why = `${messageOf(error)} Then pull a model that can call tools: ollama pull qwen3:8b`
  }
  const rehearsal = await chooseScript(question.rehearsalPath, question)
  return { ...rehearsal, note: `Playing the rehearsal script, with real tools. ${why}` }
}

/** Never a remote one: code would leave the machine without anybody having asked for it. */
async function firstUsable({ url }: Server): Promise<{ name: string; details: ModelDetails } | undefined> {
  for (const { name, remote } of await listInstalled(url, probeMs)) {
    if (remote) continue
    // One model that cannot be shown (removed just now, broken) must not hide the others.
    const details = await showModel(url, name, probeMs).catch(() => undefined)
    if (details?.tools && !details.remote) return { name, details }
  }
  return undefined
}

async function chooseScript(file: string, { servers }: ModelQuestion): Promise<ChosenModel> {
  const path = resolve(file)
  const { loadScript } = await import('./scripted/script-file.ts')
  const { model, server } = loadScript(path)
  const contextTokens = Math.min(servers.scripted?.contextTokens ?? defaultContextTokens, model.context)
  const { parameters, tools, vision } = model
  const profile = {
    ref: `scripted:${path}`,
    contextTokens,
    ...(parameters !== undefined && { parameters }),
    tools,
    vision,
  }
  return { spec: { provider: 'scripted', path, profile }, slots: server?.parallel || null }
}

function badModel(ref: string, { servers }: ModelQuestion): RuntimeError {
  const providers = [...new Set(['ollama', ...Object.keys(servers).filter((name) => servers[name]?.url)])]
  const meant =
    ref === '' ? 'ollama/qwen3:8b' : existsSync(ref) && /\.ya?ml$/.test(ref) ? `scripted:${ref}` : `ollama/${ref}`
  return new RuntimeError(
    'bad-model',
    `"${ref}" names no model. Write ${providers.map((name) => `${name}/NAME`).join(', ')} or scripted:FILE, such as ${meant}.`,
  )
}
