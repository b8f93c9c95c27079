import { type ModelMessage, type ModelRequest, type ToolSpec, tokensPerImage } from '../core/model.ts'
import { toBoardMessage } from './job-board-message.ts'

const charsPerToken = 4

/** About how many tokens a request is, at four characters each: exact enough to notice a prompt that was cut. */
export function estimateTokens(request: Pick<ModelRequest, 'system' | 'messages' | 'tools' | 'board'>): number {
  let chars = request.system.length + toolChars(request.tools)
  if (request.board) chars += toBoardMessage(request.board).length
  for (const message of request.messages) chars += messageChars(message)
  return Math.ceil(chars / charsPerToken)
}

export function textTokens(text: string): number {
  return Math.ceil(text.length / charsPerToken)
}

function messageChars(message: ModelMessage): number {
  if (message.role === 'user') return message.text.length
  if (message.role === 'tool') {
    return message.output.length + (message.images?.length ?? 0) * tokensPerImage * charsPerToken
  }
  return message.text.length + (message.calls.length === 0 ? 0 : callChars(message.calls))
}

type Calls = Extract<ModelMessage, { role: 'assistant' }>['calls']

/** The same messages come again with each turn. */
const countedCalls = new WeakMap<Calls, number>()

function callChars(calls: Calls): number {
  const known = countedCalls.get(calls)
  if (known !== undefined) return known
  const chars = calls.reduce((sum, { tool, args }) => sum + tool.length + JSON.stringify(args).length, 0)
  countedCalls.set(calls, chars)
  return chars
}

/** The tools of a session are one array for all its turns: counted once. */
const counted = new WeakMap<readonly ToolSpec[], number>()

function toolChars(tools: readonly ToolSpec[]): number {
  const known = counted.get(tools)
  if (known !== undefined) return known
  let chars = 0
  for (const tool of tools) chars += tool.name.length + tool.description.length + JSON.stringify(tool.parameters).length
  counted.set(tools, chars)
  return chars
}
