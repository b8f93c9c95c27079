import type { Action, AgentLevel, Rule } from '../core/permission.ts'
import { compileWildcard } from './wildcard.ts'

/** What the rules say of one text under one key, and the rule that said it; none: nothing matched. */
export type Verdict = { action: Action; rule?: Rule }

/** `admits` can leave out allowing rules; `plain` puts an allow behind the defaults. */
export type ResolveOptions = { admits?: (rule: Rule) => boolean; plain?: boolean }

export type RuleBook = {
  resolve(key: string, text: string, options?: ResolveOptions): Verdict
  /** True when a rule of this key (other than a bare star) restricts. */
  restricts(key: string): boolean
}

type Compiled = { rule: Rule; matchesKey: (key: string) => boolean; matchesText: (text: string) => boolean }

const strictness: Record<Action, number> = { allow: 0, ask: 1, deny: 2 }

export function stricter(one: Action, other: Action): Action {
  return strictness[one] >= strictness[other] ? one : other
}

export function isStricter(one: Action, other: Action): boolean {
  return strictness[one] > strictness[other]
}

/**
 * Rules by scope: default and user, project, agent, flag, session. Within a scope the last match wins (of flags, a deny);
 * a scope never loosens a deny of a wider one, and an agent's rules loosen only if they may. Of a chain of agents, the
 * root's first, the strictest verdict counts: a sub-agent may do no more than those above it.
 */
export function createRuleBook(rules: Rule[], chain: AgentLevel[]): RuleBook {
  const compiled = rules.filter(({ source }) => source !== 'agent').map(compile)
  const of = (...sources: string[]) => compiled.filter(({ rule }) => sources.includes(rule.source))
  const base = [...of('default'), ...of('user')]
  const [project, flags, session] = [of('project'), of('flag'), of('session')]
  const levels = distinctLevels(chain)

  function resolveLevel({ own, mayLoosen }: Level, key: string, text: string, options: ResolveOptions): Verdict {
    let verdict = resolveBase(base, key, text, options)
    for (const scope of [project, own, flags, session]) {
      const hits = matching(scope, key, text, options)
      const hit = hits.find(({ rule }) => rule.source === 'flag' && rule.action === 'deny') ?? hits[hits.length - 1]
      if (hit) verdict = narrow(verdict, hit.rule, mayLoosen)
    }
    return verdict
  }

  return {
    resolve(key, text, options = {}) {
      const [own, ...above] = levels.map((level) => resolveLevel(level, key, text, options)).reverse()
      return above.reduce((least, other) => (isStricter(other.action, least.action) ? other : least), own!)
    },
    restricts: (key) =>
      [...compiled, ...levels.flatMap(({ own }) => own)].some(
        ({ rule, matchesKey }) => rule.action !== 'allow' && !isBare(rule) && matchesKey(key),
      ),
  }
}

type Level = { own: Compiled[]; mayLoosen: boolean }

/** The session's own level comes last. Of the agents above it that say nothing, one stands for all. */
function distinctLevels(chain: AgentLevel[]): Level[] {
  const above = chain.slice(0, -1)
  const silent = above.some(({ rules }) => rules.length === 0) ? [{ rules: [], mayLoosen: false }] : []
  return [...silent, ...above.filter(({ rules }) => rules.length > 0), ...chain.slice(-1)].map(
    ({ rules, mayLoosen }) => ({ own: rules.map((rule) => compile({ ...rule, source: 'agent' })), mayLoosen }),
  )
}

/** True for a rule that is about everything under its key. */
export function isBare({ pattern }: Rule): boolean {
  return /^\*+$/.test(pattern)
}

const plainRule: Rule = { key: 'bash', pattern: 'plain read-only commands', action: 'allow', source: 'default' }

function resolveBase(base: Compiled[], key: string, text: string, options: ResolveOptions): Verdict {
  const hits = matching(base, key, text, options)
  const last = hits[hits.length - 1]?.rule
  if (options.plain && (last === undefined || last.source === 'default')) return { action: 'allow', rule: plainRule }
  return last === undefined ? { action: 'ask' } : { action: last.action, rule: last }
}

function narrow(verdict: Verdict, rule: Rule, agentMayLoosen: boolean): Verdict {
  if (verdict.action === 'deny') return verdict
  if (rule.source === 'agent' && !agentMayLoosen && isStricter(verdict.action, rule.action)) return verdict
  return { action: rule.action, rule }
}

function matching(scope: Compiled[], key: string, text: string, { admits }: ResolveOptions): Compiled[] {
  return scope.filter(
    ({ rule, matchesKey, matchesText }) =>
      matchesKey(key) && matchesText(text) && (rule.action !== 'allow' || admits === undefined || admits(rule)),
  )
}

function compile(rule: Rule): Compiled {
  const { key, pattern } = rule
  const whole = compileWildcard(pattern)
  // For paths `**/x` means x in any folder, the topmost included.
  const top = pattern.startsWith('**/') ? compileWildcard(pattern.slice(3)) : undefined
  return {
    rule,
    matchesKey: compileWildcard(key),
    matchesText: top === undefined ? whole : (text) => whole(text) || top(text),
  }
}
