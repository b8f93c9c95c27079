import { isWildcard, wildcardCovers } from './wildcard.ts'

const taskFamily = ['task', 'task_*', 'read_sub_agent']

/** Every built-in tool. Names of MCP servers' tools are `{server}_{tool}`. */
export const canonicalTools = [
  'bash',
  'read',
  'edit',
  'write',
  'glob',
  'grep',
  'todowrite',
  'todoread',
  'webfetch',
  'task',
  'task_send',
  'task_wait',
  'task_cancel',
  'read_sub_agent',
  'skill',
  'update_memory',
] as const

/** Other programs' names, and those of the toolset `compact`, in lower case without `-` and `_`. */
const aliases: Record<string, readonly string[]> = {
  shell: ['bash'],
  readfile: ['read'],
  editfile: ['edit'],
  multiedit: ['edit'],
  patch: ['edit'],
  applypatch: ['edit'],
  writefile: ['write'],
  listfiles: ['glob'],
  list: ['glob'],
  ls: ['glob'],
  todo: ['todowrite', 'todoread'],
  task: taskFamily,
  agent: taskFamily,
  spawnsubagent: taskFamily,
}

/** Tools of the programs whose agents are imported that have no counterpart here. */
const absent = new Set(
  `websearch codesearch lsp question notebookedit notebookread bashoutput killshell killbash exitplanmode enterplanmode
  askuserquestion slashcommand toolsearch mcpsearch taskoutput taskstop taskcreate taskupdate taskget tasklist
  taskcreate sendmessage listmcpresourcestool readmcpresourcetool planenter planexit doomloop`.split(/\s+/),
)

/** What a written tool name stands for; `mcp: true`: for every tool of every MCP server. */
export type NamedTools =
  | { kind: 'known'; patterns: readonly string[]; mcp?: boolean }
  | { kind: 'absent' }
  | { kind: 'unknown' }

/** Maps a tool's name of any supported program to canonical names or wildcards over them. */
export function toolsNamed(written: string): NamedTools {
  if (/^mcp_{0,2}\*?$/i.test(written)) return { kind: 'known', patterns: ['mcp_*'], mcp: true }
  const mcp = /^mcp__([\w-]+?)(?:__([\w*-]+))?$/i.exec(written)
  if (mcp) return { kind: 'known', patterns: [`${mcp[1]}_${mcp[2] ?? '*'}`] }
  if (isWildcard(written)) return wildcardTools(written.toLowerCase())
  const folded = fold(written)
  if (aliases[folded]) return { kind: 'known', patterns: aliases[folded] }
  const tool = canonicalTools.find((name) => fold(name) === folded)
  if (tool) return { kind: 'known', patterns: [tool] }
  return absent.has(folded) ? { kind: 'absent' } : { kind: 'unknown' }
}

/** Whether a name could be that of an MCP server's tool, `{server}_{tool}`. */
export function isMcpToolName(written: string): boolean {
  return /^[A-Za-z][\w-]*_[\w-]+$/.test(written) && toolsNamed(written).kind === 'unknown'
}

function wildcardTools(pattern: string): NamedTools {
  const isKnown = canonicalTools.some((name) => wildcardCovers(pattern, name))
  const server = /^([a-z0-9-]+(?:_[a-z0-9-]+)*)_\*$/.exec(pattern)?.[1]
  const isServer = server !== undefined && toolsNamed(server).kind === 'unknown'
  return isKnown || isServer || /^[\w-]*mcp[\w-]*\*$/.test(pattern)
    ? { kind: 'known', patterns: [pattern] }
    : { kind: 'unknown' }
}

function fold(written: string): string {
  return written.toLowerCase().replace(/[-_]/g, '')
}
