import type { AgentLevel } from '../core/permission.ts'
import { agentMayLoosen } from '../core/settings.ts'
import type { Kernel } from './kernel.ts'
import type { SessionEntry } from './session-entry.ts'

/** The rules of the agents above a session, the root's first: it may do no more than each of them. */
export function levelsAbove(kernel: Kernel, entry: SessionEntry): AgentLevel[] {
  const parent = kernel.parentOf(entry)
  if (!parent) return []
  const { agent } = parent.seed
  const level = { rules: agent.permission, mayLoosen: agentMayLoosen(agent, kernel.options.settings) }
  return [...levelsAbove(kernel, parent), level]
}
