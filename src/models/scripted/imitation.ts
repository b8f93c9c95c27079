import { wireRefusal } from '../model-errors.ts'
import { pause } from '../pause.ts'
import type { ScriptServer } from './script-schema.ts'

/** A request that the imitated server works on; `leave` makes room for the next, and may be called twice. */
export type Admission = { promptTokens: number; leave(): void }

/** How a real server behaves around an answer: it queues, loads the model, reads the prompt, writes at its speed. */
export type Imitation = {
  /** Rejects with a `refused` of status 400, or with the signal's reason. */
  admit(prompt: { tokens: number; numCtx: number; truncate: boolean }, signal: AbortSignal): Promise<Admission>
  /** Milliseconds that writing so many tokens takes. */
  writeMs(tokens: number): number
  holdCalls: boolean
}

const none: Imitation = {
  admit: async ({ tokens }) => ({ promptTokens: tokens, leave: () => {} }),
  writeMs: () => 0,
  holdCalls: false,
}

/** Without `server` in the script nothing is imitated: any number at once, at no cost. */
export function createImitation(server: ScriptServer | undefined): Imitation {
  if (!server) return none
  const slots = createSlots(server.parallel === 0 ? Number.POSITIVE_INFINITY : server.parallel)
  let loadedNumCtx: number | undefined

  return {
    holdCalls: server.holdCalls,
    writeMs: (tokens) => (server.decodeTps > 0 ? (tokens / server.decodeTps) * 1000 : 0),
    async admit({ tokens, numCtx, truncate }, signal) {
      const promptTokens = server.enforceNumCtx ? fitPrompt(tokens, numCtx, truncate) : tokens
      const leave = await slots.enter(signal)
      try {
        if (loadedNumCtx !== numCtx && server.loadMs > 0) await pause(server.loadMs, signal)
        loadedNumCtx = numCtx
        if (server.prefillTps > 0) await pause((promptTokens / server.prefillTps) * 1000, signal)
      } catch (error) {
        leave()
        throw error
      }
      return { promptTokens, leave }
    },
  }
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
