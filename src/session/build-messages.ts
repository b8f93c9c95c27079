import type { ModelMessage } from '../core/model.ts'
import { providerCallId } from '../core/model.ts'
import type { JobResult } from '../core/records.ts'
import type { HistoryItem, SessionState } from '../core/state.ts'

/**
 * The conversation as a model gets it. Valid for every provider: each assistant call is followed by its result, in call
 * order, before anything else. Depends on the history alone, so that equal histories give equal bytes.
 * `nameOf` gives the name under which the model sees a canonical tool.
 */
export function buildMessages(state: Pick<SessionState, 'history'>, nameOf: NameOf): ModelMessage[] {
  return state.history.flatMap((item) => knownMessages(item, nameOf))
}

type NameOf = (canonical: string) => string

/** An item of history never changes: its messages are made once, so that what is made of them can be kept as well. */
const known = new WeakMap<HistoryItem, { nameOf: NameOf; messages: ModelMessage[] }>()

function knownMessages(item: HistoryItem, nameOf: NameOf): ModelMessage[] {
  const before = known.get(item)
  if (before?.nameOf === nameOf) return before.messages
  const messages = messagesOf(item, nameOf)
  known.set(item, { nameOf, messages })
  return messages
}

/** A child's result as the parent's model reads it. */
export function resultText({ state, text, error }: JobResult): string {
  if (state === 'completed') return text
  const why = error ? `: ${error.message}` : ''
  const partial = text === '' ? 'It left no text.' : `What it had so far (partial):\n${text}`
  return `[${endWords[state]}${why}]\n${partial}`
}

const endWords = {
  failed: 'The sub-agent failed',
  cancelled: 'The sub-agent was cancelled',
  timed_out: 'The sub-agent ran out of time',
  limit: 'The sub-agent reached a limit',
} as const

function messagesOf(item: HistoryItem, nameOf: NameOf): ModelMessage[] {
  switch (item.kind) {
    case 'user':
      return [{ role: 'user', text: item.text }]
    case 'summary':
      return [{ role: 'user', text: item.text }]
    case 'assistant':
      return [assistantMessage(item, nameOf)]
    case 'result': {
      const { output, isError, images } = item.result
      const message = { id: providerCallId(item.call), tool: nameOf(item.tool), output, isError }
      return [{ role: 'tool', ...message, ...(images && { images }) }]
    }
    case 'sub-agent-result':
      return pair(item)
  }
}

function assistantMessage(
  { text, thinking, calls }: Extract<HistoryItem, { kind: 'assistant' }>,
  nameOf: NameOf,
): ModelMessage {
  const sent = calls.map(({ id, tool, args }) => ({ id: providerCallId(id), tool: nameOf(tool), args }))
  return { role: 'assistant', text, ...(thinking && { thinking }), calls: sent }
}

/** A result that nobody called for just now enters history as a call of ours and its result. */
function pair(item: Extract<HistoryItem, { kind: 'sub-agent-result' }>): ModelMessage[] {
  const tool = 'sub_agent_result'
  const id = providerCallId(`${tool}_${item.alias}_${item.generation}`)
  const args = { job: item.alias, agent: item.agent, state: item.result.state }
  const isError = item.result.state !== 'completed'
  return [
    { role: 'assistant', text: '', calls: [{ id, tool, args }] },
    { role: 'tool', id, tool, output: resultText(item.result), isError },
  ]
}
