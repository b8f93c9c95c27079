import type { IncomingHttpHeaders } from 'node:http'
import type { ModelMessage } from '../../core/model.ts'
import { decodeArguments } from '../decode-arguments.ts'
import { array, object, string } from '../untyped.ts'
import { fromFactHeaders } from '../wire-facts.ts'
import { createCallIds, type ReceivedRequest, readTools } from './ollama-body.ts'
import { withoutBoard } from './without-board.ts'

/** `includeUsage`: the client wants a last chunk with the token counts. */
export type OpenAiRequest = ReceivedRequest & { includeUsage: boolean }

/** Reads the body of `/v1/chat/completions`. There is no way to ask for a context size there. */
export function readOpenAiBody(body: unknown, headers: IncomingHttpHeaders, contextTokens: number): OpenAiRequest {
  const fields = object(body)
  const system: string[] = []
  const sent: ModelMessage[] = []
  const ids = createCallIds()
  for (const message of array(fields.messages).map(object)) {
    const text = contentText(message.content)
    if (message.role === 'system' || message.role === 'developer') system.push(text)
    else if (message.role === 'assistant') sent.push({ role: 'assistant', text, calls: readCalls(message, ids) })
    else if (message.role === 'tool') {
      const { id, tool } = ids.answer(string(message.tool_call_id), string(message.name))
      sent.push({ role: 'tool', id, tool, output: text, isError: false })
    } else sent.push({ role: 'user', text })
  }
  const { messages, board } = withoutBoard(sent)
  const facts = fromFactHeaders(headers, messages)
  return {
    request: { system: system.join('\n\n'), messages, board, tools: readTools(fields.tools), facts, contextTokens },
    model: string(fields.model),
    stream: fields.stream === true,
    truncate: false,
    includeUsage: object(fields.stream_options).include_usage === true,
  }
}

function readCalls(message: Record<string, unknown>, ids: ReturnType<typeof createCallIds>) {
  return array(message.tool_calls)
    .map(object)
    .map((call) => {
      const { name, arguments: sent } = object(call.function)
      return { id: ids.ask(string(call.id), string(name)), tool: string(name), args: decodeArguments(sent).args }
    })
}

function contentText(content: unknown): string {
  if (!Array.isArray(content)) return string(content)
  return content.map((part) => string(object(part).text)).join('')
}
