import type { Action, Rule } from '../core/permission.ts'
import { wildcardCovers } from './wildcard.ts'

/** A rule of an agent's own. */
export function agentRule(key: string, pattern: string, action: Action): Rule {
  return { key, pattern, action, source: 'agent' }
}

/** The same rules, but nothing under `key` is allowed without asking. */
export function capAtAsk(rules: Rule[], key: string): Rule[] {
  const capped = rules.flatMap((rule) => {
    if (rule.action !== 'allow' || !wildcardCovers(rule.key, key)) return [rule]
    return rule.key === key ? [{ ...rule, action: 'ask' as const }] : [rule, agentRule(key, rule.pattern, 'ask')]
  })
  return [agentRule(key, '*', 'ask'), ...capped]
}

/** The same rules, but under `key` only what one of `patterns` covers is possible at all: the intersection of both. */
export function scopeTo(rules: Rule[], key: string, patterns: string[]): Rule[] {
  const others = rules.filter((rule) => rule.key !== key)
  const own = rules.filter((rule) => wildcardCovers(rule.key, key))
  const scoped = patterns.flatMap((pattern) => [
    agentRule(key, pattern, 'allow'),
    ...own.flatMap((rule) => within(pattern, { ...rule, key })),
  ])
  return [...others, agentRule(key, '*', 'deny'), ...scoped]
}

/** What is left of a rule inside a pattern. Where they only overlap, the stricter reading counts. */
function within(pattern: string, rule: Rule): Rule[] {
  if (wildcardCovers(rule.pattern, pattern)) return [{ ...rule, pattern }]
  if (wildcardCovers(pattern, rule.pattern)) return [rule]
  return rule.action === 'allow' ? [] : [{ ...rule, action: 'deny' }]
}

/** Whether nothing under `key` can be anything but denied. */
export function isAllDenied(rules: readonly { key: string; pattern: string; action: Action }[], key: string): boolean {
  const matching = rules.filter((rule) => wildcardCovers(rule.key, key))
  const base = matching.findLastIndex((rule) => rule.pattern === '*')
  return base >= 0 && matching.slice(base).every((rule) => rule.action === 'deny')
}
