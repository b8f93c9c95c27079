import type { IncomingHttpHeaders } from 'node:http'
import type { ModelMessage, ModelRequest, ToolSpec } from '../../core/model.ts'
import { decodeArguments } from '../decode-arguments.ts'
import { isImagesText } from '../images-message.ts'
import { array, object, string } from '../untyped.ts'
import { fromFactHeaders } from '../wire-facts.ts'
import { withoutBoard } from './without-board.ts'

/** A request as a server gets it. */
export type ReceivedRequest = { request: ModelRequest; model: string; stream: boolean; truncate: boolean }

const defaultNumCtx = 4096

/** Reads the body of `/api/chat`: the inverse of what the ollama client sends. */
export function readOllamaBody(body: unknown, headers: IncomingHttpHeaders): ReceivedRequest {
  const fields = object(body)
  const options = object(fields.options)
  const { system, messages, board } = readMessages(array(fields.messages).map(object))
  const request: ModelRequest = {
    system,
    messages,
    board,
    tools: readTools(fields.tools),
    facts: fromFactHeaders(headers, messages),
    contextTokens: typeof options.num_ctx === 'number' ? options.num_ctx : defaultNumCtx,
  }
  return {
    request,
    model: string(fields.model),
    stream: fields.stream !== false,
    truncate: fields.truncate !== false,
  }
}

/** OpenAI and Ollama wrap a tool alike. */
export function readTools(tools: unknown): ToolSpec[] {
  return array(tools).map((tool) => {
    const { name, description, parameters } = object(object(tool).function)
    return { name: string(name), description: string(description), parameters: object(parameters) }
  })
}

type Conversation = { system: string; messages: ModelMessage[]; board?: string }

function readMessages(sent: Record<string, unknown>[]): Conversation {
  const system: string[] = []
  const messages: ModelMessage[] = []
  const ids = createCallIds()
  for (const message of sent) {
    const text = string(message.content)
    if (message.role === 'system') system.push(text)
    else if (message.role === 'assistant') {
      const calls = array(message.tool_calls).map((call) => readCall(object(call), ids))
      messages.push({ role: 'assistant', text, calls })
    } else if (message.role === 'tool') {
      const { id, tool } = ids.answer(string(message.tool_call_id), string(message.tool_name))
      messages.push({ role: 'tool', id, tool, output: text, isError: false })
    } else if (!addImages(messages.at(-1), text, array(message.images))) messages.push({ role: 'user', text })
  }
  return { system: system.join('\n\n'), ...withoutBoard(messages) }
}

/** False unless the message shows the images of results, of which `result` is the last. */
function addImages(result: ModelMessage | undefined, text: string, sent: readonly unknown[]): boolean {
  if (result?.role !== 'tool' || sent.length === 0 || !isImagesText(text)) return false
  result.images = sent.map(string).map((data) => ({ name: '', label: '', mediaType: '', bytes: data.length, data }))
  return true
}

function readCall(call: Record<string, unknown>, ids: ReturnType<typeof createCallIds>) {
  const { name, arguments: sent } = object(call.function)
  const tool = string(name)
  return { id: ids.ask(string(call.id), tool), tool, args: decodeArguments(sent).args }
}

/** Pairs calls with results: by id where there is one, by order where the protocol has none. */
export function createCallIds() {
  const open: { id: string; tool: string }[] = []
  let made = 0
  return {
    ask(id: string, tool: string): string {
      const own = id || `call_${++made}`
      open.push({ id: own, tool })
      return own
    },
    answer(id: string, tool: string): { id: string; tool: string } {
      const byId = open.findIndex((call) => call.id === id)
      const found = byId >= 0 ? byId : open.findIndex((call) => tool === '' || call.tool === tool)
      const [call] = found >= 0 ? open.splice(found, 1) : []
      return { id: call?.id ?? (id || 'call_unknown'), tool: tool || call?.tool || '' }
    },
  }
}
