import type { ModelRequest } from '../../core/model.ts'
import { wireRefusal } from '../model-errors.ts'
import { pause } from '../pause.ts'
import type { ScriptServer } from './script-schema.ts'

/** A request that the imitated server works on; `leave` makes room for the next, and may be called twice. */
export type Admission = { promptTokens: number; leave(): void }

/** How a real server behaves around an answer: it queues, loads the model, reads the prompt, writes at its speed. */
export type Imitation = {
  /** Rejects with a `refused` of status 400, or with the signal's reason. */
  admit(prompt: ImitatedPrompt, signal: AbortSignal): Promise<Admission>
  /** Milliseconds that writing so many tokens takes. */
  writeMs(tokens: number): number
  holdCalls: boolean
  readonly load: ImitatedLoad
}

/** `text` is compared with what a slot has read before: what they have in common at the start is not read again. */
export type ImitatedPrompt = { tokens: number; numCtx: number; truncate: boolean; text: string }

/** Tokens that were read in all, and those that a slot still had. */
export type ImitatedLoad = { requests: number; prefilledTokens: number; cachedTokens: number }

const none: Imitation = {
  admit: async ({ tokens }) => ({ promptTokens: tokens, leave: () => {} }),
  writeMs: () => 0,
  holdCalls: false,
  load: { requests: 0, prefilledTokens: 0, cachedTokens: 0 },
}

/** Without `server` in the script nothing is imitated: any number at once, at no cost. */
export function createImitation(server: ScriptServer | undefined): Imitation {
  if (!server) return none
  const slots = createSlots(server.parallel === 0 ? Number.POSITIVE_INFINITY : server.parallel)
  const cache = createPromptCache(Math.max(1, server.parallel))
  const load: ImitatedLoad = { requests: 0, prefilledTokens: 0, cachedTokens: 0 }
  let loadedNumCtx: number | undefined

  return {
    holdCalls: server.holdCalls,
    load,
    writeMs: (tokens) => (server.decodeTps > 0 ? (tokens / server.decodeTps) * 1000 : 0),
    async admit({ tokens, numCtx, truncate, text }, signal) {
      const promptTokens = server.enforceNumCtx ? fitPrompt(tokens, numCtx, truncate) : tokens
      const leave = await slots.enter(signal)
      try {
        if (loadedNumCtx !== numCtx && server.loadMs > 0) await pause(server.loadMs, signal)
        loadedNumCtx = numCtx
        const cachedTokens = server.prefillTps > 0 ? Math.floor(promptTokens * cache.read(text)) : 0
        load.requests += 1
        load.cachedTokens += cachedTokens
        load.prefilledTokens += promptTokens - cachedTokens
        if (server.prefillTps > 0) await pause(((promptTokens - cachedTokens) / server.prefillTps) * 1000, signal)
      } catch (error) {
        leave()
        throw error
      }
      return { promptTokens, leave }
    },
  }
}

/** Remembers the last prompt of each slot, as llama.cpp does; `read` gives the part of a prompt that one had, 0 to 1. */
function createPromptCache(slots: number): { read(text: string): number } {
  const prompts: string[] = []
  return {
    read(text) {
      const shared = prompts.map((prompt) => commonStart(prompt, text))
      const best = Math.max(0, ...shared)
      const at = best > 0 ? shared.indexOf(best) : prompts.length < slots ? prompts.length : 0
      prompts.splice(at, 1)
      prompts.push(text)
      return text.length === 0 ? 0 : best / text.length
    },
  }
}

function commonStart(one: string, other: string): number {
  const end = Math.min(one.length, other.length)
  let at = 0
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1
  return at
}

/** What a model reads of a request, as text. */
export function promptText({ system, tools, messages }: Pick<ModelRequest, 'system' | 'tools' | 'messages'>): string {
  return JSON.stringify([system, tools, ...messages])
}

/** As Ollama does it: an error if it may not cut, else half of the context is kept. */
function fitPrompt(tokens: number, numCtx: number, truncate: boolean): number {
  if (tokens <= numCtx) return tokens
  if (truncate) return Math.floor(numCtx / 2)
  const text = `the input length exceeds the context length (${tokens} tokens, num_ctx ${numCtx})`
  throw wireRefusal(400, text)
}

type Slots = { enter(signal: AbortSignal): Promise<() => void> }

function createSlots(limit: number): Slots {
  let free = limit
  const waiting: (() => void)[] = []

  function leaveOnce(): () => void {
    let left = false
    return () => {
      if (left) return
      left = true
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }

  return {
    async enter(signal) {
      signal.throwIfAborted()
      if (free > 0) {
        free--
        return leaveOnce()
      }
      await new Promise<void>((resolve, reject) => {
        const stop = () => {
          waiting.splice(waiting.indexOf(go), 1)
          reject(signal.reason)
        }
        const go = () => {
          signal.removeEventListener('abort', stop)
          resolve()
        }
        waiting.push(go)
        signal.addEventListener('abort', stop, { once: true })
      })
      return leaveOnce()
    },
  }
}
