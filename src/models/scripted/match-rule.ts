import { isSameTool } from '../tool-names.ts'
import type { ScriptFacts } from './facts.ts'
import type { Count, Script, ScriptRule } from './script-schema.ts'

/** `groups` are those of the rule's `prompt` pattern if it has any, else of its `text` pattern; 0 is the whole match. */
export type RuleMatch = { rule: ScriptRule; groups: readonly string[] }

/** The first rule whose every condition holds. */
export function findRule(script: Script, facts: ScriptFacts): RuleMatch | undefined {
  for (const rule of script.rules) {
    const groups = matchRule(rule, facts)
    if (groups) return { rule, groups }
  }
  return undefined
}

function matchRule({ when }: ScriptRule, facts: ScriptFacts): string[] | undefined {
  if ((when.purpose ?? 'turn') !== facts.purpose) return undefined
  if (when.agent !== undefined && !wildcard(when.agent).test(facts.agent)) return undefined
  if (!countHolds(when.depth, facts.depth) || !countHolds(when.turn, facts.turn)) return undefined
  if (!countHolds(when.attempt, facts.attempt) || !countHolds(when.results, facts.results)) return undefined
  if (!countHolds(when.images, facts.images)) return undefined
  if (when.last !== undefined && !isSameTool(when.last, facts.last)) return undefined
  if (when.tools && !when.tools.every((name) => facts.tools.some((offered) => isSameTool(name, offered)))) {
    return undefined
  }
  const prompt = when.prompt?.exec(facts.prompt)
  const text = when.text?.exec(facts.text)
  if (prompt === null || text === null) return undefined
  const capturing = prompt && (prompt.length > 1 || !text) ? prompt : text
  return [...(capturing ?? [])].map((group) => group ?? '')
}

function countHolds(count: Count | undefined, actual: number): boolean {
  if (count === undefined) return true
  const { operator, value } = count
  if (operator === '>=') return actual >= value
  if (operator === '<=') return actual <= value
  if (operator === '>') return actual > value
  if (operator === '<') return actual < value
  return operator === '!=' ? actual !== value : actual === value
}

const wildcards = new Map<string, RegExp>()

function wildcard(pattern: string): RegExp {
  const known = wildcards.get(pattern)
  if (known) return known
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*/g, '.*')
    .replace(/\?/g, '.')
  const made = new RegExp(`^${source}$`, 's')
  wildcards.set(pattern, made)
  return made
}
