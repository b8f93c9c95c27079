import type { ToolSwitch } from '../core/agent.ts'
import type { Rule } from '../core/permission.ts'
import { agentRule, scopeTo } from './access-rules.ts'
import { refuse, type Warning } from './definition-error.ts'
import { parseToolEntries, type ToolEntry } from './tool-entries.ts'
import { isMcpToolName, toolsNamed } from './tool-names.ts'
import { isScoped, scopeOf, scopeRules, unknownTool } from './tool-scopes.ts'
import { wildcardCovers } from './wildcard.ts'

/** What a `tools` field comes to. `limits` narrow the rules to some commands or paths; they are applied with `limitRules`. */
export type ToolChoice = {
  switches: ToolSwitch[]
  limits: { key: string; patterns: string[] }[]
  /** Commands that are allowed beside a tool that is wholly on. */
  grants: Rule[]
  /** Counted after all others. */
  denials: Rule[]
  warnings: Warning[]
}

export type ToolParsing = {
  line?: number
  key: string /** Names of tools that only the caller knows. */
  keepUnknown?: boolean
}

const nothing: ToolSwitch = { pattern: '*', allow: false }

/** Parses a choice of tools. A list or text means only these; a map switches single tools on and off. */
export function parseTools(value: unknown, parsing: ToolParsing): ToolChoice {
  if (value instanceof Map) return parseToolMap(value, parsing)
  if (value === null || value === undefined) {
    const message = `"${parsing.key}" is empty: the agent has no tools.`
    return { switches: [nothing], limits: [], grants: [], denials: [], warnings: [{ message, line: parsing.line }] }
  }
  return parseToolList(parseToolEntries(value, parsing.key, parsing.line), parsing)
}

/** The tools that both lists name; a map can't be combined with anything. */
export function intersectTools(a: ToolChoice, b: ToolChoice, line?: number): ToolChoice {
  if (![a, b].every(({ switches }) => switches.length === 0 || switches[0] === nothing)) {
    refuse('Tools are given twice, once as a map. Keep one list.', line)
  }
  if (a.limits.length + b.limits.length + a.grants.length + b.grants.length > 0) {
    refuse('Tools are given twice, with commands in parentheses. Keep one list.', line)
  }
  if (a.switches.length === 0) return { ...b, warnings: [...a.warnings, ...b.warnings] }
  const covers = (list: ToolSwitch[], { pattern }: ToolSwitch) =>
    list.length === 0 || list.some((other) => other.allow && wildcardCovers(other.pattern, pattern))
  const both = [
    ...a.switches.filter((entry) => entry.allow && covers(b.switches, entry)),
    ...b.switches.filter((entry) => entry.allow && covers(a.switches, entry)),
  ]
  return { ...a, switches: [nothing, ...both], warnings: [...a.warnings, ...b.warnings] }
}

/** Rules narrowed to what `Bash(git *)` and the like leave. */
export function limitRules(rules: Rule[], { limits, grants, denials }: ToolChoice): Rule[] {
  const granted = grants.filter(({ key }) => !rules.some((rule) => wildcardCovers(rule.key, key)))
  const narrowed = limits.reduce((all, { key, patterns }) => scopeTo(all, key, patterns), [...granted, ...rules])
  return [...narrowed, ...denials]
}

/** Switches and rules that take the named tools away. Throws for a tool that does not exist: nothing would be taken. */
export function parseDisallowedTools(
  value: unknown,
  { key, line }: ToolParsing,
): { switches: ToolSwitch[]; rules: Rule[] } {
  const switches: ToolSwitch[] = []
  const rules: Rule[] = []
  for (const entry of parseToolEntries(value, key, line)) {
    const named = toolsNamed(entry.name)
    if (named.kind === 'unknown') refuse(unknownTool(entry.name), line)
    if (named.kind === 'absent') continue
    if (isScoped(entry)) rules.push(...scopeRules(entry, 'deny', line))
    else switches.push(...named.patterns.map((pattern) => ({ pattern, allow: false })))
    if (named.mcp) rules.push(agentRule('mcp', '*', 'deny'))
  }
  return { switches, rules }
}

function parseToolList(entries: ToolEntry[], { line, keepUnknown }: ToolParsing): ToolChoice {
  if (entries.some(({ name }) => name === '*'))
    return { switches: [], limits: [], grants: [], denials: [], warnings: [] }
  const choice: ToolChoice = { switches: [nothing], limits: [], grants: [], denials: [], warnings: [] }
  const known = entries.filter(({ name }) => {
    const { kind } = toolsNamed(name)
    if (kind === 'known' || isMcpToolName(name) || keepUnknown) return true
    const message =
      kind === 'absent' ? `There is no ${name} here; the agent does without.` : `"${name}" is no tool and was left out.`
    choice.warnings.push({ message, line })
    return false
  })
  for (const entry of known) {
    const named = toolsNamed(entry.name)
    const patterns = named.kind === 'known' ? named.patterns : [entry.name]
    choice.switches.push(...patterns.map((pattern) => ({ pattern, allow: true })))
  }
  return { ...choice, ...limitsOf(known, line) }
}

/** `Edit, Write(docs/*)` share one permission: the limit counts for both. `Bash, Bash(git *)` is bash, and git at once. */
function limitsOf(entries: ToolEntry[], line?: number): Pick<ToolChoice, 'limits' | 'grants'> {
  const limits = new Map<string, string[]>()
  const grants: Rule[] = []
  for (const entry of entries.filter(isScoped)) {
    const { key, patterns } = scopeOf(entry, line)
    const isWhole = entries.some((other) => !isScoped(other) && other.name.toLowerCase() === entry.name.toLowerCase())
    if (isWhole) grants.push(...patterns.map((pattern) => agentRule(key, pattern, 'allow')))
    else limits.set(key, [...(limits.get(key) ?? []), ...patterns])
  }
  return { limits: [...limits].map(([key, patterns]) => ({ key, patterns })), grants }
}

function parseToolMap(map: Map<unknown, unknown>, { key, line, keepUnknown }: ToolParsing): ToolChoice {
  const choice: ToolChoice = { switches: [], limits: [], grants: [], denials: [], warnings: [] }
  for (const [written, value] of map) {
    const name = String(written)
    const allow = switchValue(value)
    if (allow === undefined) refuse(`"${key}: ${name}" must be true or false.`, line)
    const named = toolsNamed(name)
    const isKept = keepUnknown || (allow && isMcpToolName(name))
    if (named.kind === 'known') choice.switches.push(...named.patterns.map((pattern) => ({ pattern, allow })))
    else if (isKept) choice.switches.push({ pattern: name, allow })
    else if (named.kind === 'unknown' && !allow) refuse(unknownTool(name), line)
    else if (named.kind === 'unknown') choice.warnings.push({ message: `"${name}" is no tool and was left out.`, line })
    if (named.kind === 'known' && named.mcp && !allow) choice.denials.push(agentRule('mcp', '*', 'deny'))
  }
  if (map.size > 0 && [...map.values()].every((value) => switchValue(value))) {
    const message = `"${key}" only switches tools on, so the others stay too. For only these write a list: ${key}: [${[...map.keys()].join(', ')}]`
    choice.warnings.push({ message, line })
  }
  return choice
}

function switchValue(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value
  return value === 'true' ? true : value === 'false' ? false : undefined
}
