import { type ContextBudget, divideContext } from '../core/context-room.ts'
import { estimateTokens } from '../models/estimate-tokens.ts'
import { buildSystem } from '../session/build-system.ts'
import type { Activation } from './run-activation.ts'

const systems = new WeakMap<Activation, string>()

/** The system prompt, the same for all requests of an activation. */
export function systemOf(activation: Activation): string {
  const { task, seed, registry } = activation
  const known = systems.get(activation)
  if (known !== undefined) return known
  const skills = registry.find('skill') === undefined ? [] : task.skills
  const system = buildSystem({ seed, memory: task.memory, skills, contextTokens: task.model.profile.contextTokens })
  systems.set(activation, system)
  return system
}

const budgets = new WeakMap<Activation, ContextBudget>()

/** How this session's context is divided: known from its first message on. */
export function budgetOf(activation: Activation): ContextBudget {
  const known = budgets.get(activation)
  if (known) return known
  const { task, registry } = activation
  const fixed = { system: systemOf(activation), tools: registry.specs(), messages: firstMessage(activation) }
  const budget = divideContext(task.model.profile.contextTokens, estimateTokens(fixed))
  budgets.set(activation, budget)
  return budget
}

/** The task: the one message that a compaction leaves as it is. */
function firstMessage({ task: { state } }: Activation): { role: 'user'; text: string }[] {
  const placed = state.history.find((item) => item.kind === 'user')?.text
  const waiting = state.mailbox.flatMap(({ message }) => (message.kind === 'user' ? [message.text] : []))
  const text = placed ?? waiting[0]
  return text === undefined ? [] : [{ role: 'user', text }]
}
