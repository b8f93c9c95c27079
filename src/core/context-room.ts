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

/** Characters of sub-agents' results that one turn may place: half of the context. */
export function roomForResults(contextTokens: number): number {
  return contextTokens * (charsPerToken / 2)
}
