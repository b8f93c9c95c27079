import type { ModelMessage, ModelRequest, RequestFacts } from '../../core/model.ts'

/** What a script's conditions and templates may see of a request. The board's text is not among it. */
export type ScriptFacts = RequestFacts & {
  /** The first user message. */
  prompt: string
  /** The tool whose result comes last, or `user`. */
  last: string
  /** The last message. */
  text: string
  /** `sub_agent_result` pairs among the messages. */
  results: number
  /** Images sent with the messages. */
  images: number
  /** Names of the tools offered. */
  tools: string[]
  messages: readonly ModelMessage[]
}

export function factsOf(request: ModelRequest): ScriptFacts {
  const { messages } = request
  const last = messages.findLast((message) => message.role !== 'assistant')
  return {
    ...request.facts,
    prompt: messages.find((message) => message.role === 'user')?.text ?? '',
    last: last?.role === 'tool' ? last.tool : 'user',
    text: last?.role === 'tool' ? last.output : (last?.text ?? ''),
    results: messages.filter(isResult).length,
    images: messages.reduce((sum, message) => sum + imagesOf(message), 0),
    tools: request.tools.map(({ name }) => name),
    messages,
  }
}

/** `alias: text`, one per result, in history order. */
export function resultLines({ messages }: ScriptFacts): string {
  const aliases = new Map<string, string>()
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const { id, tool, args } of message.calls) if (tool === resultTool) aliases.set(id, String(args.job))
  }
  return messages
    .filter(isResult)
    .map(({ id, output }) => `${aliases.get(id) ?? id}: ${output}`)
    .join('\n')
}

/** One line for a person who wonders why no rule matched. */
export function describeFacts(facts: ScriptFacts): string {
  const { agent, depth, turn, attempt, purpose, last, results, images, prompt, text, tools } = facts
  const counted = images > 0 ? { results, images } : { results }
  const shown = {
    agent,
    depth,
    turn,
    attempt,
    purpose,
    last,
    ...counted,
    prompt: short(prompt),
    text: short(text),
    tools,
  }
  return Object.entries(shown)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(', ')
}

const resultTool = 'sub_agent_result'

function isResult(message: ModelMessage): message is Extract<ModelMessage, { role: 'tool' }> {
  return message.role === 'tool' && message.tool === resultTool
}

function imagesOf(message: ModelMessage): number {
  return message.role === 'tool' ? (message.images ?? []).filter(({ data }) => data !== undefined).length : 0
}

function short(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
