import { relative } from 'node:path'
import type { Action, AgentLevel, JudgedUnit, PermissionMode, PermissionRequest, Rule } from '../core/permission.ts'
import type { RunSettings } from '../core/settings.ts'
import { grantFor } from './grants.ts'
import { findHazard } from './hazards.ts'
import { deniedText } from './headless.ts'
import { outsidePaths } from './outside-paths.ts'
import { realTarget } from './path-gate.ts'
import { findPlainCommand, type PlainCommand } from './plain-command.ts'
import { isProtected } from './protected-path.ts'
import { createRuleBook, isBare, isStricter, type RuleBook, stricter, type Verdict } from './resolve-rules.ts'
import { lexCommand } from './shell-words.ts'
import { spellings } from './spellings.ts'
import { isWild } from './wildcard.ts'

/**
 * What is to happen with a request. `reason`: for a denial, the text for the model; else a short phrase for people.
 * `grant`: the rule that an "always" would store. `unasked`: denied because nobody could be asked, by no rule. `units`:
 * all that was judged, in order.
 */
export type Decision = { action: Action; reason: string; grant?: Rule; unasked?: true; units?: JudgedUnit[] }

export type DeciderOptions = {
  settings: Pick<RunSettings, 'permissionMode' | 'rules'>
  agentRules: Rule[]
  /** Of the agents above it, the root's first: it may do no more than each of them. */
  above?: AgentLevel[]
  grants: Rule[]
  /** The worktree, absolute. */
  dir: string
  /** True when the agent's own rules may allow what the run would ask: built in, the user's, given in code, or trusted. */
  agentMayLoosen: boolean
}

export type Decide = (request: PermissionRequest) => Decision

/** One thing that a request wants, as judged by the rules. */
type Part = { key: string; pattern: string; verdict: Verdict; why?: string; spelled?: true }

/** Decides requests of one session. Holds no resources; make a new one when grants change. */
export function createDecider(options: DeciderOptions): Decide {
  const { settings, agentRules, above = [], grants, dir, agentMayLoosen } = options
  const levels = [...above, { rules: agentRules, mayLoosen: agentMayLoosen }]
  const book = createRuleBook([...settings.rules, ...grants], levels)
  return (request) => {
    if (request.key === 'bash' && request.pattern.includes('\0')) return refuse('a command cannot hold a NUL character')
    const parts = judge(book, request, dir)
    return { ...conclude(request, parts, settings.permissionMode), units: parts.map(unitOf) }
  }
}

function judge(book: RuleBook, request: PermissionRequest, dir: string): Part[] {
  const { key, pattern, outside, claim } = request
  const parts = key === 'bash' ? judgeCommand(book, request, dir) : [judgeOther(book, key, pattern)]
  if (outside !== undefined) parts.push(judgeOther(book, 'external_directory', outside))
  if (claim !== undefined) parts.push({ ...judgeOther(book, 'claim', pattern), why: claim })
  return parts
}

function judgeOther(book: RuleBook, key: string, pattern: string): Part {
  const guarded = key === 'edit' && isProtected(pattern)
  const admits = guarded ? (rule: Rule) => rule.source !== 'session' : undefined
  return { key, pattern, verdict: book.resolve(key, pattern, { admits }) }
}

function judgeCommand(book: RuleBook, request: PermissionRequest, dir: string): Part[] {
  const command = request.pattern.trim()
  const cwd = request.cwd ?? dir
  const plain = findPlainCommand(command, dir, cwd)
  const lexed = lexCommand(command)
  const why = lexed.simple ? findHazard(lexed.words) : lexed.why
  const admits = (rule: Rule) => why === undefined || !isWild(rule.pattern)
  const verdict = book.resolve('bash', command, { admits, plain: plain !== undefined })
  const parts: Part[] = [{ key: 'bash', pattern: command, verdict, why }]
  if (book.restricts('bash')) parts.push(...judgeSpellings(book, command, verdict.action, admits))
  if (plain !== undefined) return [...parts, ...judgeReads(book, plain, dir, cwd)]
  const outside = outsidePaths(command, dir, cwd).map((path) => judgeOther(book, 'external_directory', path))
  return [...parts, ...outside]
}

/** Other spellings only restrict, and only by a rule that names what it restricts. */
function judgeSpellings(book: RuleBook, command: string, base: Action, admits: (rule: Rule) => boolean): Part[] {
  const parts: Part[] = []
  for (const pattern of spellings(command)) {
    const verdict = book.resolve('bash', pattern, { admits })
    const isNamed = verdict.rule !== undefined && !isBare(verdict.rule)
    if (isNamed && isStricter(verdict.action, base)) parts.push({ key: 'bash', pattern, verdict, spelled: true })
  }
  return parts
}

/** A plain command reads as the read tool does: under its rules. One that shows whole trees is no longer plain under any. */
function judgeReads(book: RuleBook, { paths, tree }: PlainCommand, dir: string, cwd: string): Part[] {
  if (tree && book.restricts('read')) {
    return [{ key: 'read', pattern: '*', verdict: { action: 'ask' }, why: 'it may show files that a rule keeps' }]
  }
  const root = realTarget(dir, '/') ?? dir
  return paths
    .map((path) => judgeOther(book, 'read', relative(root, realTarget(path, cwd) ?? path)))
    .filter(({ verdict }) => verdict.action !== 'allow')
}

function conclude(request: PermissionRequest, parts: Part[], mode: PermissionMode): Decision {
  const action = parts.map(({ verdict }) => verdict.action).reduce(stricter)
  const part = parts.find(({ verdict }) => verdict.action === action)!
  const reason = phrase(part)
  if (action === 'deny') return refuse(reason)
  if (action === 'ask') return concludeAsk(request, parts, part, mode)
  return mode === 'strict' && hasEffect(request, part)
    ? { action: 'ask', reason: 'in this mode each is asked' }
    : { action, reason }
}

function concludeAsk(request: PermissionRequest, parts: Part[], part: Part, mode: PermissionMode): Decision {
  const ask: Decision = { action: 'ask', reason: phrase(part) }
  const isContested = parts.some(({ key, verdict }) => key === 'claim' && verdict.action === 'ask')
  if (mode === 'allow' || (mode === 'edits' && isEasyEdit(request) && !isContested))
    return { action: 'allow', reason: `the mode ${mode}` }
  if (mode === 'deny') return { action: 'deny', reason: deniedText(part), unasked: true }
  const grant = mode === 'strict' ? undefined : grantOf(parts)
  return grant === undefined ? ask : { ...ask, grant }
}

/** One stored rule answers one question. */
function grantOf(parts: Part[]): Rule | undefined {
  const [only, ...others] = parts.filter(({ verdict }) => verdict.action === 'ask')
  return only === undefined || only.spelled || others.length > 0 ? undefined : grantFor(only)
}

function hasEffect({ key, outside }: PermissionRequest, { verdict }: Part): boolean {
  if (outside !== undefined) return true
  if (key === 'bash') return verdict.rule?.source !== 'default'
  return key !== 'read' && key !== 'skill' && key !== 'task'
}

function isEasyEdit({ key, pattern, outside }: PermissionRequest): boolean {
  return key === 'edit' && outside === undefined && !isProtected(pattern)
}

function unitOf(part: Part): JudgedUnit {
  const { key, pattern, verdict } = part
  return { key, pattern, action: verdict.action, reason: phrase(part), ...(verdict.rule && { rule: verdict.rule }) }
}

function refuse(why: string): Decision {
  return { action: 'deny', reason: `Denied: ${why}; nobody was asked.` }
}

function phrase({ verdict: { rule, action }, why }: Part): string {
  if (action === 'ask' && why !== undefined) return why
  if (rule === undefined) return 'no rule matches'
  return `the rule ${rule.key} "${rule.pattern}" (${rule.source}) says ${action}`
}
