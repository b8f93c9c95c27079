import type { ModelCall, ModelDelta, ModelReply, ModelRequest } from '../../core/model.ts'
import { decodeArguments } from '../decode-arguments.ts'
import { estimateTokens } from '../estimate-tokens.ts'
import { array, object, string } from '../untyped.ts'
import { createContentSplitter } from './split-content.ts'

/** Makes one reply of the chunks of a stream. */
export type ReplyCollector = {
  /** True if the chunk said something: only that counts against silence. */
  add(chunk: Record<string, unknown>): boolean
  /** The server said that it is done. */
  readonly done: boolean
  finish(): ModelReply
}

export function createReplyCollector(request: ModelRequest, onDelta: (delta: ModelDelta) => void): ReplyCollector {
  const offered = request.tools.map(({ name }) => name)
  const content = createContentSplitter(offered, onDelta)
  const calls: SentCall[] = []
  let thinking = ''
  let last: Record<string, unknown> = {}

  return {
    get done() {
      return last.done === true
    },
    add(chunk) {
      const message = object(chunk.message)
      const thought = string(message.thinking)
      const text = string(message.content)
      const made = array(message.tool_calls)
      if (thought !== '') {
        thinking += thought
        onDelta({ type: 'thinking', text: thought })
      }
      if (text !== '') content.push(text)
      for (const call of made) addCall(calls, object(call))
      if (chunk.done === true) last = chunk
      return thought !== '' || text !== '' || made.length > 0 || chunk.done === true
    },
    finish() {
      const written = content.end()
      const made =
        calls.length > 0 ? calls.map(({ tool, sent }) => ({ tool, ...decodeArguments(sent) })) : written.calls
      const inputTokens = count(last.prompt_eval_count)
      return {
        text: written.text,
        thinking: thinking + written.thinking,
        calls: made satisfies ModelCall[],
        usage: { inputTokens, outputTokens: count(last.eval_count) },
        finish: last.done_reason === 'length' ? 'length' : 'stop',
        warnings: truncationWarnings(request, inputTokens),
      }
    },
  }
}

/** `id` and `index` as the server gave them, if it did. */
type SentCall = { tool: string; sent: unknown; id: unknown; index: unknown }

/**
 * Each entry is a call of its own, whatever its index says: servers number all of them 0. Only a piece of arguments goes on
 * with a call: one without a name, or with the id of a call whose JSON is not complete yet.
 */
function addCall(calls: SentCall[], entry: Record<string, unknown>): void {
  const { name, arguments: sent, index = entry.index } = object(entry.function)
  const { id } = entry
  const begun = name
    ? calls.findLast((call) => isUnfinished(call, id))
    : (calls.findLast((call) => call.index === index) ?? calls.at(-1))
  const piece = typeof sent === 'string' ? sent : undefined
  if (begun && typeof begun.sent === 'string' && piece !== undefined) begun.sent += piece
  else calls.push({ tool: string(name), sent, id, index })
}

function isUnfinished(call: SentCall, id: unknown): boolean {
  return typeof id === 'string' && id !== '' && call.id === id && decodeArguments(call.sent).invalid !== undefined
}

function count(value: unknown): number {
  return Number.isSafeInteger(value) ? Math.max(0, value as number) : 0
}

/** Small prompts are estimated too roughly to tell. */
const smallestJudged = 1000

/** A server that reports no count at all had the prompt in its cache. */
function truncationWarnings(request: ModelRequest, reported: number): string[] {
  if (reported === 0) return []
  const estimated = estimateTokens(request)
  if (estimated < smallestJudged || reported >= estimated / 2) return []
  const numbers = `${estimated.toLocaleString('en-US')} -> ${reported.toLocaleString('en-US')}`
  return [
    `prompt was truncated (${numbers}): the server read far fewer tokens than were sent. Check the context size that the server allows.`,
  ]
}
