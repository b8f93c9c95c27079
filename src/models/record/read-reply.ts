import type { Usage } from '../../core/model.ts'
import { array, object, string } from '../untyped.ts'

/** A reply as a server gave it; arguments that were no object stay text. */
export type RecordedReply = {
  text: string
  thinking: string
  calls: { tool: string; args: Record<string, unknown> | string }[]
  usage: Usage
  finish: 'stop' | 'length'
}

/** Reads a whole reply of `/api/chat`, streamed or not. Undefined if it is not complete. */
export function readOllamaReply(body: string): RecordedReply | undefined {
  const reply = emptyReply()
  let done = false
  for (const line of body.split('\n')) {
    const chunk = object(parse(line))
    const message = object(chunk.message)
    reply.text += string(message.content)
    reply.thinking += string(message.thinking)
    for (const call of array(message.tool_calls)) addCall(reply, object(object(call).function))
    if (chunk.done !== true) continue
    done = true
    reply.usage = { inputTokens: count(chunk.prompt_eval_count), outputTokens: count(chunk.eval_count) }
    reply.finish = chunk.done_reason === 'length' ? 'length' : 'stop'
  }
  return done ? reply : undefined
}

/** Reads a whole reply of `/v1/chat/completions`, streamed or not. Undefined if it is not complete. */
export function readOpenAiReply(body: string): RecordedReply | undefined {
  const reply = emptyReply()
  const fragments: Fragment[] = []
  let done = false
  for (const chunk of openAiChunks(body)) {
    const choice = object(array(chunk.choices)[0])
    const said = object(choice.delta ?? choice.message)
    reply.text += string(said.content)
    reply.thinking += string(said.reasoning_content) || string(said.reasoning)
    for (const call of array(said.tool_calls).map(object)) addFragment(fragments, call)
    if (choice.finish_reason) done = true
    if (choice.finish_reason === 'length') reply.finish = 'length'
    const usage = object(chunk.usage)
    if (chunk.usage) {
      reply.usage = { inputTokens: count(usage.prompt_tokens), outputTokens: count(usage.completion_tokens) }
    }
  }
  for (const { tool, args } of fragments) addCall(reply, { name: tool, arguments: args })
  return done ? reply : undefined
}

function openAiChunks(body: string): Record<string, unknown>[] {
  if (!/^\s*(?:data|event|:)/.test(body)) return [object(parse(body))]
  const data = body.split('\n').filter((line) => line.startsWith('data:'))
  return data.map((line) => object(parse(line.slice('data:'.length))))
}

type Fragment = { index: unknown; id: string; tool: string; args: string }

/** Some servers give every call the index 0: another id, or another name, is another call. */
function addFragment(fragments: Fragment[], call: Record<string, unknown>): void {
  const { name, arguments: args } = object(call.function)
  const id = string(call.id)
  const open = fragments.findLast(({ index }) => index === call.index)
  const goesOn = open && (id === '' || id === open.id) && !name
  if (goesOn) open.args += string(args)
  else fragments.push({ index: call.index, id, tool: string(name), args: string(args) })
}

function addCall(reply: RecordedReply, { name, arguments: sent }: Record<string, unknown>): void {
  const decoded = typeof sent === 'string' ? parse(sent) : sent
  const isObject = typeof decoded === 'object' && decoded !== null && !Array.isArray(decoded)
  const args = isObject ? (decoded as Record<string, unknown>) : string(sent)
  reply.calls.push({ tool: string(name), args })
}

function emptyReply(): RecordedReply {
  return { text: '', thinking: '', calls: [], usage: { inputTokens: 0, outputTokens: 0 }, finish: 'stop' }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A blank line, `[DONE]`, or a line that broke: none of them says anything.
    return undefined
  }
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
