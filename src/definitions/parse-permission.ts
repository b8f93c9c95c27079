import type { ToolSwitch } from '../core/agent.ts'
import type { Action, Rule } from '../core/permission.ts'
import { agentRule, capAtAsk, isAllDenied } from './access-rules.ts'
import { refuse, type Warning } from './definition-error.ts'
import { lineOfKey } from './parse-yaml.ts'
import { parseToolEntries } from './tool-entries.ts'
import { canonicalTools, toolsNamed } from './tool-names.ts'
import { isScoped, scopeRules } from './tool-scopes.ts'
import { isWildcard, wildcardCovers } from './wildcard.ts'

/** What a `permission` field comes to: rules, and switches for tools that it leaves no use of. */
export type Access = { rules: Rule[]; switches: ToolSwitch[]; warnings: Warning[] }

/** A rule as authored: `key` still tells `write` from `edit`, `grep` from `read`. */
type Authored = { key: string; pattern: string; action: Action; line?: number }

const actions = new Set<unknown>(['allow', 'ask', 'deny'])
const example = 'permission: { bash: { "*": ask, "git *": allow }, edit: deny }'

const keyNames: Record<string, string> = {
  shell: 'bash',
  multiedit: 'write',
  patch: 'write',
  applypatch: 'write',
  list: 'glob',
  ls: 'glob',
  agent: 'task',
  externaldirectory: 'external_directory',
  updatememory: 'update_memory',
}
const keys = new Set(
  'bash read edit write glob grep webfetch task skill mcp external_directory claim todowrite todoread todo update_memory'.split(
    ' ',
  ),
)

/**
 * Parses the field `permission` of an agent; rules of a file `path` know their lines. Throws for every key and value that
 * is not understood.
 */
export function parsePermission(value: unknown, line?: number, path?: string): Access {
  if (isSettings(value)) return parseSettings(value, line)
  const authored = authoredRules(value, line)
  const counts = new Set(authored.map(({ key }) => key))
  const rules = authored
    .filter(({ key }) => !isSideKey(key, counts))
    .map((rule) => ({ ...toRule(rule), ...(path && { place: { path, line: rule.line ?? line } }) }))
  const switches = offSwitches(authored)
  return { rules: foldSideKeys(rules, authored, counts, line), switches, warnings: [] }
}

function authoredRules(value: unknown, line?: number): Authored[] {
  if (actions.has(value)) return [{ key: '*', pattern: '*', action: value as Action }]
  if (!(value instanceof Map))
    return refuse(`"permission" must be allow, ask, deny or a map, such as: ${example}`, line)
  const seen = new Map<string, unknown>()
  return [...value].flatMap(([written, rule]) => {
    const key = permissionKey(String(written), rule, line)
    if (key === undefined) return []
    if (seen.has(key) && seen.get(key) === rule) return []
    if (seen.has(key)) refuse(`permission: "${written}" says again, and otherwise, what ${key} says. Keep one.`, line)
    seen.set(key, rule)
    return patternsOf(key, rule, lineOfKey(value, written) ?? line)
  })
}

function patternsOf(key: string, rule: unknown, line?: number): Authored[] {
  if (actions.has(rule)) return [{ key, pattern: '*', action: rule as Action, line }]
  if (!(rule instanceof Map) || !hasPatterns(key))
    return refuse(`permission: "${key}" must be allow, ask or deny, or a map of patterns to these.`, line)
  return [...rule].map(([pattern, action]) => {
    if (String(pattern).trim() === '')
      refuse(`permission: "${key}" has an empty pattern. For all of it write "*".`, line)
    if (!actions.has(action)) refuse(`permission: "${key}: ${pattern}" must be allow, ask or deny.`, line)
    return { key, pattern: String(pattern), action: action as Action, line: lineOfKey(rule, pattern) ?? line }
  })
}

/** All tools of an MCP server, or one, are judged as they are: their calls have no pattern. */
function hasPatterns(key: string): boolean {
  return keys.has(key) || [...keys].some((known) => wildcardCovers(key, known))
}

/** `undefined`: a key of another program that stands for nothing here. */
function permissionKey(written: string, rule: unknown, line?: number): string | undefined {
  const folded = written.toLowerCase().replace(/[-_]/g, '')
  const name = keyNames[folded] ?? folded
  if (keys.has(name)) return name
  if (toolsNamed(written).kind === 'absent') return absentKey(rule, line)
  if (isWildcard(written)) return wildcardKey(written.toLowerCase(), line)
  const mcp = toolsNamed(written)
  if (/^mcp__/i.test(written) && mcp.kind === 'known') return mcp.patterns[0]!
  if (/[\s/]/.test(written)) {
    refuse(
      `permission: "${written}" is no tool but a pattern. Write: permission: { bash: { "${written}": deny } }`,
      line,
    )
  }
  return refuse(`permission: "${written}" is no key. Known: ${[...keys].join(', ')}.`, line)
}

function absentKey(rule: unknown, line?: number): undefined {
  patternsOf('*', rule, line)
}

function wildcardKey(written: string, line?: number): string {
  if ([...keys].some((key) => wildcardCovers(written, key))) return written
  const named = toolsNamed(written)
  if (/[\s/]/.test(written) || named.kind !== 'known') {
    refuse(
      `permission: "${written}" is no tool but a pattern. Write: permission: { bash: { "${written}": deny } }`,
      line,
    )
  }
  return named.patterns[0]!
}

/** MCP tools are judged under the one key `mcp`, by their name. */
function toRule({ key, pattern, action }: Authored): Rule {
  return hasPatterns(key) ? agentRule(key === 'write' ? 'edit' : key, pattern, action) : agentRule('mcp', key, action)
}

/** Keys that have no permission of their own: `glob` and `grep` ask as `read`, `write` as `edit`, todo tools never ask. */
function isSideKey(key: string, counts: Set<string>): boolean {
  return ['glob', 'grep', 'todo', 'todowrite', 'todoread'].includes(key) || (key === 'write' && counts.has('edit'))
}

function foldSideKeys(rules: Rule[], authored: Authored[], counts: Set<string>, line?: number): Rule[] {
  let folded = rules
  for (const { key, pattern, action } of authored.filter((rule) => isSideKey(rule.key, counts))) {
    if (pattern !== '*') refuse(`permission: "${key}" takes no patterns here. Give them under read or edit.`, line)
    const main = key === 'write' ? 'edit' : 'read'
    if (key.startsWith('todo') || action === 'deny') continue
    // The tool `read` itself is switched off then, so this opens nothing but `glob` or `grep`.
    if (main === 'read' && isAllDenied(folded, main)) folded = [...folded, agentRule(main, '*', action)]
    else if (action === 'ask' && !isAllDenied(folded, main)) folded = capAtAsk(folded, main)
  }
  return folded
}

/** Tools of which the rules leave no use are not offered at all. */
function offSwitches(authored: Authored[]): ToolSwitch[] {
  const off = canonicalTools.filter((tool) => isOff(tool, authored)).map((pattern) => ({ pattern, allow: false }))
  const servers = authored.filter(
    ({ key, action }) => !keys.has(key) && action === 'deny' && toRule({ key, pattern: '*', action }).key === 'mcp',
  )
  return [...off, ...servers.map(({ key }) => ({ pattern: key, allow: false }))]
}

function isOff(tool: string, authored: Authored[]): boolean {
  const has = (key: string) => authored.some((rule) => rule.key === key)
  if (tool === 'write' && has('write'))
    return isAllDenied(authored, 'write') || (has('edit') && isAllDenied(authored, 'edit'))
  if (tool === 'edit' && has('write') && !has('edit'))
    return isAllDenied(authored, 'edit') || isAllDenied(authored, 'write')
  if (tool.startsWith('todo')) return isTodoOff(tool, authored)
  if (/^task_|^read_sub_agent$/.test(tool)) return isAllDenied(authored, 'task')
  return isAllDenied(authored, tool === 'write' ? 'edit' : tool)
}

function isTodoOff(tool: string, authored: Authored[]): boolean {
  const own = authored.filter(({ key }) => key === tool || key === 'todo')
  return own.length > 0 ? own.some(({ action }) => action !== 'allow') : isAllDenied(authored, tool)
}

/** The form of Claude's settings: `{ allow: ["Bash(git:*)"], ask: [...], deny: [...] }`. */
function isSettings(value: unknown): value is Map<string, unknown> {
  return value instanceof Map && value.size > 0 && [...value.keys()].every((key) => actions.has(key))
}

function parseSettings(value: Map<string, unknown>, line?: number): Access {
  const access: Access = { rules: [], switches: [], warnings: [] }
  for (const action of ['allow', 'ask', 'deny'] as const) {
    if (!value.has(action)) continue
    for (const entry of parseToolEntries(value.get(action), `permission: ${action}`, line)) {
      access.rules.push(...scopeRules(entry, action, line))
      const named = toolsNamed(entry.name)
      if (action !== 'deny' || isScoped(entry) || named.kind !== 'known') continue
      access.switches.push(...named.patterns.map((pattern) => ({ pattern, allow: false })))
    }
  }
  return access
}
