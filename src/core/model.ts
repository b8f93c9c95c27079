import type { CallId, SessionId } from './ids.ts'
import type { ResultImage } from './records.ts'

/** JSON Schema as sent to a model server. */
export type JsonSchema = { [key: string]: unknown }

/** A tool as the model sees it: the name is the toolset's. */
export type ToolSpec = { name: string; description: string; parameters: JsonSchema }

/** A call as the model made it. `invalid` holds the raw text when the arguments were no JSON object. */
export type ModelCall = { tool: string; args: Record<string, unknown>; invalid?: string }

/** A message as sent to a model; every assistant call is followed by its result before the next user or assistant message. */
export type ModelMessage =
  | { role: 'user'; text: string }
  | {
      role: 'assistant'
      text: string
      thinking?: string
      calls: { id: string; tool: string; args: Record<string, unknown> }[]
    }
  | { role: 'tool'; id: string; tool: string; output: string; isError: boolean; images?: ModelImage[] }

/** An image that belongs to a result. `data` is its content in base64, once it is loaded to be sent. */
export type ModelImage = ResultImage & { data?: string }

/** About what an image takes of a model's context. */
export const tokensPerImage = 1000

/** Who asks, for scripted models and for the headers `x-troupe-*`. */
export type RequestFacts = {
  agent: string
  depth: number
  session: SessionId
  /** The session's n-th turn, from 1; retries and restarts keep it. */
  turn: number
  /** 1 unless this turn is tried again. */
  attempt: number
  purpose: 'turn' | 'compaction'
}

export type ModelRequest = {
  system: string
  messages: ModelMessage[]
  tools: ToolSpec[]
  /** Job board and notices: sent last, as text of ours, never stored and never seen by a scripted model's conditions. */
  board?: string
  facts: RequestFacts
  /** Tokens of context to ask of the server. */
  contextTokens: number
  think?: boolean | 'low' | 'medium' | 'high'
  options?: Record<string, number | string | boolean>
}

/** `cost` in the unit of the configured prices, where one is known. */
export type Usage = { inputTokens: number; outputTokens: number; cost?: number }

/** What a model sends while it answers. */
export type ModelDelta = { type: 'text' | 'thinking'; text: string }

export type ModelReply = {
  text: string
  thinking: string
  calls: ModelCall[]
  usage: Usage
  /** `length`: the server's output limit was hit. */
  finish: 'stop' | 'length'
  /** Things a person should know, such as a prompt that the server cut. */
  warnings: string[]
}

/** What is known of a model before the first request. */
export type ModelProfile = {
  /** `provider/name`. */
  ref: string
  contextTokens: number
  /** Billions; missing: unknown. */
  parameters?: number
  tools: boolean
  /** It can look at images. */
  vision?: boolean
}

/**
 * A model server's client. `stream` reports deltas as they come and resolves with the whole reply. It rejects with a
 * `RuntimeError` (`model-unreachable`, `model-not-found`, `model-refused`, `model-failed`, `model-incomplete`,
 * `script-unmatched`) or with the signal's reason; other requests of the same client go on.
 */
export interface Model {
  readonly profile: ModelProfile
  stream(request: ModelRequest, onDelta: (delta: ModelDelta) => void, signal: AbortSignal): Promise<ModelReply>
}

/** Enough to make a `Model` in any thread: plain data. */
export type ModelSpec =
  | { provider: 'scripted'; path: string; profile: ModelProfile }
  | {
      provider: 'ollama'
      url: string
      name: string
      profile: ModelProfile
      keepAliveSeconds: number
      timeouts: ModelTimeouts
      sendFacts: boolean
    }

/** Milliseconds. */
export type ModelTimeouts = { firstByteMs: number; silenceMs: number }

/** What slots and gates of a model are shared by: its server's address, or its script. */
export function serverOf(spec: ModelSpec): string {
  return spec.provider === 'scripted' ? spec.path : spec.url
}

/** The call's id in a provider's message: unique within the conversation. */
export function providerCallId(id: CallId | string): string {
  return `call_${id.replace(/[^A-Za-z0-9]/g, '_')}`
}
