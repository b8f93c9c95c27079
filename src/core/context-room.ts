const charsPerToken = 4

/** From this size on, in tokens, a context takes the longest outputs as they are. */
const roomyTokens = 15_000

/** Characters that one output or one child's result may take: a quarter of a small context. */
export function roomForText(contextTokens: number, maxChars: number): number {
  return contextTokens >= roomyTokens ? maxChars : Math.min(maxChars, contextTokens * (charsPerToken / 4))
}

const maxMemoryChars = 24_000

/** Characters that a project's own texts may take of the system prompt: an eighth of the context in all. */
export function roomForMemory(contextTokens: number): number {
  return Math.min(maxMemoryChars, Math.floor((contextTokens * charsPerToken) / 8))
}

const maxHandedChars = 120_000

/** Characters that files handed to a child may take: a third of its context in all. */
export function roomForHandedFiles(contextTokens: number): number {
  return Math.min(maxHandedChars, Math.floor((contextTokens * charsPerToken) / 3))
}

/** At most 1,500 tokens, whatever the context. */
export const maxBoardChars = 5900

/** Characters of the job board's text: an eighth of a small context. */
export function roomForBoard(contextTokens: number): number {
  return Math.min(maxBoardChars, Math.floor((contextTokens * charsPerToken) / 8))
}

/** How a session's context is divided, in tokens as they are estimated. */
export type ContextBudget = {
  /** Left for the reply. */
  reply: number
  /** Longest summary of what came before. */
  summary: number
  /** What may come new in one turn and still be sent as it is, after a compaction if need be. */
  fresh: number
}

const maxReplyTokens = 4096
const maxSummaryTokens = 4096

/** `fixedTokens`: of what every request of the session has: system prompt, tools, its task. */
export function divideContext(contextTokens: number, fixedTokens: number): ContextBudget {
  const reply = Math.min(maxReplyTokens, Math.floor(contextTokens / 4))
  const board = Math.floor(contextTokens / 16)
  const free = contextTokens - fixedTokens - board
  const summary = Math.floor(within(free - contextTokens / 16, contextTokens / 32, contextTokens / 8))
  return { reply, summary: Math.min(maxSummaryTokens, summary), fresh: Math.max(0, free - reply - summary) }
}

/**
 * Characters of results that one turn may place: half of the context, less where prompt and tools take much of it. Something
 * is left for the message whose calls they answer.
 */
export function roomForResults(contextTokens: number, { fresh }: ContextBudget): number {
  return charsPerToken * Math.floor(within((fresh * 3) / 4, contextTokens / 32, contextTokens / 2))
}

const minShareChars = 500

/** Characters for each of some texts that come at the same time. */
export function shareOfRoom(chars: number, sharers: number): number {
  return Math.max(minShareChars, Math.floor(chars / Math.max(1, sharers)))
}

function within(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value))
}
