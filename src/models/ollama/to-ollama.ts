import type { ModelMessage, ModelRequest, ToolSpec } from '../../core/model.ts'
import { toImagesText } from '../images-message.ts'
import { escapeBoardTag, toBoardMessage } from '../job-board-message.ts'

/** Body of `/api/chat`. The job board comes last: all before it stays the same from turn to turn, for the prompt cache. */
export function toOllamaBody(request: ModelRequest, model: { name: string; keepAliveSeconds: number; tools: boolean }) {
  const { system, messages, board, tools, think, options, contextTokens } = request
  return {
    model: model.name,
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      ...withImages(messages),
      ...(board ? [{ role: 'user', content: toBoardMessage(board) }] : []),
    ],
    ...(model.tools && tools.length > 0 && { tools: toOllamaTools(tools) }),
    ...(think !== undefined && { think }),
    options: { ...options, num_ctx: contextTokens },
    keep_alive: `${model.keepAliveSeconds}s`,
    // Rather an error than a prompt that is cut in silence.
    truncate: false,
    shift: false,
  }
}

/** One object each, however often a session sends them: `requestText` keeps the text of what it has seen. */
const knownMessages = new WeakMap<ModelMessage, object>()
const knownTools = new WeakMap<readonly ToolSpec[], object[]>()

function knownMessage(message: ModelMessage): object {
  const known = knownMessages.get(message) ?? toOllamaMessage(message)
  knownMessages.set(message, known)
  return known
}

/** The results of one turn stay together: what they show comes below the last of them. */
function withImages(messages: readonly ModelMessage[]): object[] {
  const sent: object[] = []
  let showing: Shown[] = []
  for (const [at, message] of messages.entries()) {
    sent.push(knownMessage(message))
    if (message.role !== 'tool') continue
    if (message.images?.some(({ data }) => data !== undefined)) showing.push(message)
    if (messages[at + 1]?.role === 'tool' || showing.length === 0) continue
    sent.push(imagesMessage(showing))
    showing = []
  }
  return sent
}

type Shown = Extract<ModelMessage, { role: 'tool' }>

/** By the first of the results: those of one turn do not change. */
const knownImages = new WeakMap<Shown, object>()

function imagesMessage(results: readonly Shown[]): object {
  const known = knownImages.get(results[0]!)
  if (known) return known
  const images = results.flatMap(({ images = [] }) => images).filter(({ data }) => data !== undefined)
  const content = escapeBoardTag(toImagesText(images.map(({ label }) => label)))
  const made = { role: 'user', content, images: images.map(({ data }) => data) }
  knownImages.set(results[0]!, made)
  return made
}

function toOllamaTools(tools: readonly ToolSpec[]): object[] {
  const known = knownTools.get(tools) ?? tools.map((tool) => ({ type: 'function', function: tool }))
  knownTools.set(tools, known)
  return known
}

/** Arguments go as an object: Ollama refuses the JSON text that OpenAI wants. */
function toOllamaMessage(message: ModelMessage) {
  if (message.role === 'user') return { role: 'user', content: escapeBoardTag(message.text) }
  if (message.role === 'tool') {
    const { id, tool, output } = message
    return { role: 'tool', content: escapeBoardTag(output), tool_name: tool, tool_call_id: id }
  }
  const { text, thinking, calls } = message
  return {
    role: 'assistant',
    content: text,
    ...(thinking && { thinking }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, tool, args }) => ({ id, function: { name: tool, arguments: args } })),
    }),
  }
}
