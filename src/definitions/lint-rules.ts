import type { Diagnostic } from '../core/agent.ts'
import type { Rule } from '../core/permission.ts'
import { patternsCover, patternsOverlap } from './pattern-sets.ts'
import { wildcardCovers } from './wildcard.ts'

/**
 * Rules of one file that decide nothing, each with its place: a later one of the file matches all that it matches, a
 * wider scope (`wider`, widest first) denies all of it, or its pattern fits nothing that is ever asked under its key.
 * Only what is certain; rules without a place are not looked at.
 */
export function lintRules(rules: Rule[], wider: Rule[][] = []): Diagnostic[] {
  return rules.flatMap((rule, n) => {
    if (rule.place === undefined) return []
    const why = unfitting(rule) ?? shadowed(rule, rules.slice(n + 1)) ?? deniedBefore(rule, wider)
    if (why === undefined) return []
    const { path, line } = rule.place
    const message = `permission: ${nameOf(rule)} can never win: ${why}`
    return [{ path, ...(line !== undefined && { line }), severity: 'warning' as const, message }]
  })
}

function shadowed(rule: Rule, later: Rule[]): string | undefined {
  // A star speaks for single commands only, so a command of several is still this rule's.
  const isCommandList = /[;&|\n<>`$(]/.test(rule.pattern) && wildcardCovers(rule.key, 'bash')
  const by = later.find((other) => covers(other, rule) && !(isCommandList && other.action === 'allow'))
  return by && `${nameOf(by)}${atLine(by)} comes later and matches all of it. Put the wider one first.`
}

/** What is denied stays so, unless its own scope takes some of it back. */
function deniedBefore(rule: Rule, wider: Rule[][]): string | undefined {
  if (rule.action === 'deny') return undefined
  for (const scope of wider) {
    const at = scope.findLastIndex((other) => other.action === 'deny' && covers(other, rule))
    const deny = scope[at]
    if (deny === undefined) continue
    const takenBack = scope.slice(at + 1).some((other) => other.action !== 'deny' && overlaps(other, rule))
    if (!takenBack) return `${nameOf(deny)} (${whereOf(deny)}) denies all of it, and that stays.`
  }
  return undefined
}

/** Patterns that look right and match nothing, because of how the text is written that they are compared with. */
function unfitting({ key, pattern }: Rule): string | undefined {
  if (pattern !== pattern.trim()) return 'its pattern begins or ends with a blank. Remove that.'
  if (key === 'read' || key === 'edit') {
    if (pattern.startsWith('~')) return 'a ~ is not expanded. Write the absolute path, under external_directory too.'
    if (pattern.startsWith('./')) return `paths are relative to the worktree. Write "${pattern.slice(2) || '*'}".`
    if (/[^/]\/$/.test(pattern)) return `a folder is written without the last slash. Write "${pattern}*".`
  }
  if (key === 'external_directory' && !/^[/*?]/.test(pattern)) return 'it is compared with absolute paths. Write one.'
  if (key === 'webfetch' && !/^(https?|[^:]*[*?])/.test(pattern))
    return `it is compared with whole addresses. Write "https://${pattern}/*".`
  return undefined
}

function covers(by: Rule, rule: Rule): boolean {
  return wildcardCovers(by.key, rule.key) && patternsCover(by.pattern, rule.pattern)
}

function overlaps(one: Rule, other: Rule): boolean {
  return patternsOverlap(one.key, other.key) && patternsOverlap(one.pattern, other.pattern)
}

function nameOf({ key, pattern, action }: Rule): string {
  return `${key} "${pattern}": ${action}`
}

function atLine({ place }: Rule): string {
  return place?.line === undefined ? '' : ` (line ${place.line})`
}

function whereOf({ place, source }: Rule): string {
  return place === undefined ? source : `${place.path}${place.line === undefined ? '' : `:${place.line}`}`
}
