import type { ModelMessage } from '../../core/model.ts'
import { isBoardMessage, unescapeBoardTag } from '../job-board-message.ts'

/** Takes the job board off the end of a conversation, and undoes the escaping of all other texts. */
export function withoutBoard(messages: ModelMessage[]): { messages: ModelMessage[]; board?: string } {
  const last = messages.at(-1)
  const board = last?.role === 'user' && isBoardMessage(last.text) ? last.text : undefined
  const kept = board === undefined ? messages : messages.slice(0, -1)
  return { messages: kept.map(unescaped), ...(board !== undefined && { board }) }
}

function unescaped(message: ModelMessage): ModelMessage {
  if (message.role === 'user') return { ...message, text: unescapeBoardTag(message.text) }
  if (message.role === 'tool') return { ...message, output: unescapeBoardTag(message.output) }
  return message
}
