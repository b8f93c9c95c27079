import type { AgentDefinition } from '../core/agent.ts'
import type { AgentSummary } from '../core/messages.ts'
import { wildcardCovers } from './wildcard.ts'

/** The agents that one may hand work to, in the order given: no primary ones, none that its own file rules out. */
export function spawnableFor(agent: AgentDefinition, agents: readonly AgentDefinition[]): AgentSummary[] {
  return agents.filter((other) => isSpawnable(agent, other)).map(({ name, description }) => ({ name, description }))
}

function isSpawnable({ spawns, permission }: AgentDefinition, { name, mode }: AgentDefinition): boolean {
  if (mode === 'primary') return false
  if (spawns && !spawns.some((pattern) => wildcardCovers(pattern, name))) return false
  const rule = permission.findLast((rule) => wildcardCovers(rule.key, 'task') && wildcardCovers(rule.pattern, name))
  return rule?.action !== 'deny'
}
