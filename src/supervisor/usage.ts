import type { Usage } from '../core/model.ts'
import type { LimitReached } from '../core/records.ts'
import type { Kernel } from './kernel.ts'
import type { SessionEntry } from './session-entry.ts'

/** What a session and all under it have used; `cost` where a price is known for one of their models. */
export function usageOfTree(kernel: Kernel, entry: SessionEntry): Usage {
  const total: Usage = { inputTokens: 0, outputTokens: 0 }
  for (const one of kernel.treeOf(entry)) {
    total.inputTokens += one.usage.inputTokens
    total.outputTokens += one.usage.outputTokens
    const cost = costOf(kernel, one)
    if (cost !== undefined) total.cost = (total.cost ?? 0) + cost
  }
  return total
}

/** The bound of the whole run that a root's tree has reached. */
export function exhaustedBudget(kernel: Kernel, root: SessionEntry): LimitReached | undefined {
  const { budget } = kernel.options.settings
  if (budget.maxTokens === undefined && budget.maxCost === undefined) return undefined
  const { inputTokens, outputTokens, cost = 0 } = usageOfTree(kernel, root)
  if (budget.maxTokens !== undefined && inputTokens + outputTokens >= budget.maxTokens) {
    return { limit: 'budget.maxTokens', value: budget.maxTokens }
  }
  if (budget.maxCost !== undefined && cost >= budget.maxCost) return { limit: 'budget.maxCost', value: budget.maxCost }
  return undefined
}

/** Prices are per million tokens. */
function costOf(kernel: Kernel, { usage, seed }: SessionEntry): number | undefined {
  const price = kernel.options.settings.prices[seed.model]
  return price && (usage.inputTokens * price.input + usage.outputTokens * price.output) / 1e6
}
