import type { AgentLimits } from '../core/agent.ts'
import type { LimitReached } from '../core/records.ts'
import type { SessionState } from '../core/state.ts'

export const defaultMaxTurns = 200

/** The bound that a session has reached, counted since its present work began. */
export function reachedLimit(state: SessionState, limits: AgentLimits): LimitReached | undefined {
  const maxTurns = limits.maxTurns ?? defaultMaxTurns
  if (state.turn - state.base.turn >= maxTurns) return { limit: 'maxTurns', value: maxTurns }
  const { maxTokens } = limits
  const tokens = state.usage.inputTokens + state.usage.outputTokens - state.base.tokens
  return maxTokens !== undefined && tokens >= maxTokens ? { limit: 'maxTokens', value: maxTokens } : undefined
}

/** The bounds of one session: of its launch, else of its agent, else of the configuration. */
export function limitsOf(...scopes: AgentLimits[]): AgentLimits {
  return Object.assign({}, ...scopes.toReversed())
}
