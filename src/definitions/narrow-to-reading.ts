import type { AgentDefinition } from '../core/agent.ts'
import { canonicalTools } from './tool-names.ts'
import { wildcardCovers } from './wildcard.ts'

const reading = new Set(
  'read glob grep todowrite todoread task task_send task_wait task_cancel read_sub_agent skill'.split(' '),
)

/**
 * The same agent without every tool that acts on the world, without anything allowed in advance, and without a model
 * of its own: what is left of an agent that comes from a folder nobody has trusted.
 */
export function narrowToReading(agent: AgentDefinition): AgentDefinition {
  const { model: _, mcpServers: __, ...rest } = agent
  const on = canonicalTools.filter((tool) => isSwitchedOn(agent, tool))
  const kept = on.filter((tool) => reading.has(tool))
  return {
    ...rest,
    tools: [{ pattern: '*', allow: false }, ...kept.map((pattern) => ({ pattern, allow: true }))],
    permission: agent.permission.filter(({ action }) => action !== 'allow'),
    withheld: on.filter((tool) => !reading.has(tool)),
  }
}

function isSwitchedOn({ tools }: AgentDefinition, tool: string): boolean {
  return tools.findLast(({ pattern }) => wildcardCovers(pattern, tool))?.allow ?? true
}
