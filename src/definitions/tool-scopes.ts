import type { Action, Rule } from '../core/permission.ts'
import { agentRule } from './access-rules.ts'
import { refuse } from './definition-error.ts'
import type { ToolEntry } from './tool-entries.ts'
import { toolsNamed } from './tool-names.ts'
import { isWildcard } from './wildcard.ts'

const keyOfTool: Record<string, string> = {
  bash: 'bash',
  read: 'read',
  glob: 'read',
  grep: 'read',
  edit: 'edit',
  write: 'edit',
  webfetch: 'webfetch',
  task: 'task',
  skill: 'skill',
}

/** Whether an entry stands for less than its whole tool: `Bash(git *)`, but not `Bash` or `Bash(*)`. */
export function isScoped({ scopes }: ToolEntry): boolean {
  return scopes.length > 0 && !scopes.some((scope) => scope === '*' || scope === '**' || scope === ':*')
}

/** The permission key that judges a tool's calls, and the patterns that an entry's parentheses stand for there. */
export function scopeOf(entry: ToolEntry, line?: number): { key: string; patterns: string[] } {
  const named = toolsNamed(entry.name)
  const key = named.kind === 'known' ? keyOfTool[named.patterns[0]!] : undefined
  if (key === undefined) {
    if (!isScoped(entry)) return { key: 'mcp', patterns: named.kind === 'known' ? [...named.patterns] : [] }
    return refuse(`"${entry.name}(...)" can't be limited to ${entry.scopes.join(', ')}. Name the tool alone.`, line)
  }
  return { key, patterns: isScoped(entry) ? entry.scopes.flatMap((scope) => patternsOf(key, scope)) : ['*'] }
}

/** One action for all that an entry stands for. A tool that does not exist here gives no rule, an unknown one throws. */
export function scopeRules(entry: ToolEntry, action: Action, line?: number): Rule[] {
  const { kind } = toolsNamed(entry.name)
  if (kind === 'absent') return []
  if (kind === 'unknown' && action !== 'allow') refuse(unknownTool(entry.name), line)
  if (entry.name === '*' && !isScoped(entry)) return [agentRule('*', '*', action)]
  if (isWildcard(entry.name) && action !== 'allow' && !entry.name.includes('_')) {
    refuse(`"${entry.name}" is too wide for ${action}. Name the tools one by one.`, line)
  }
  const { key, patterns } = scopeOf(entry, line)
  return patterns.map((pattern) => agentRule(key, pattern, action))
}

/** What to say of a tool that should be taken away and does not exist. */
export function unknownTool(name: string): string {
  return `"${name}" is no tool, so it can't be taken away. An MCP server's tool is written mcp__SERVER__TOOL or SERVER_*.`
}

function patternsOf(key: string, scope: string): string[] {
  if (key === 'bash') return commandPatterns(scope)
  if (key === 'webfetch') return urlPatterns(scope)
  if (key === 'read' || key === 'edit') return [pathPattern(scope)]
  return [scope.replace(/:\*$/, '*')]
}

/** `git:*` is `git` alone or with arguments. */
function commandPatterns(scope: string): string[] {
  const prefix = /^(.*?)\s*:\*$/.exec(scope)?.[1] ?? /^(.*\S) \*$/.exec(scope)?.[1]
  return prefix === undefined ? [scope] : [prefix, `${prefix} *`]
}

function urlPatterns(scope: string): string[] {
  const domain = /^domain:\s*(.+)$/.exec(scope)?.[1]
  return domain === undefined ? [scope] : [`https://${domain}`, `https://${domain}/*`, `http://${domain}/*`]
}

/** Relative to the worktree; `//` begins a path of the whole machine. */
function pathPattern(scope: string): string {
  return scope
    .replace(/^\.\//, '')
    .replace(/^\/(?=[^/])/, '')
    .replace(/^\/\//, '/')
    .replace(/\*\*\/\*|\*\*/g, '*')
}
