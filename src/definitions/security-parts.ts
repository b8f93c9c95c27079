import { createHash } from 'node:crypto'
import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { parse } from 'yaml'
import type { AgentDefinition } from '../core/agent.ts'
import { definitionFolders } from './definition-folders.ts'
import { listFiles } from './list-files.ts'
import { loadFolder } from './load-agents.ts'
import { readDefinition } from './read-definition.ts'

/** A file of a project that decides what may be done. `path` is relative to the worktree; `lines`: what it says, for people. */
export type SecurityPart = { kind: 'config' | 'agent' | 'script'; path: string; hash: string; lines: string[] }

const maxScripts = 500
const maxHashedBytes = 4 * 1024 * 1024
const maxLine = 200

/**
 * What a project brings that counts only once it is trusted: its configuration, what its agents would allow, and the
 * programs of its skills; from the folder `dir` up to the worktree. Reads files, runs nothing, never throws for their contents.
 */
export function securityParts(worktree: string, dir = worktree): SecurityPart[] {
  const config = configPart(worktree)
  return [...(config ? [config] : []), ...agentParts(worktree, dir), ...scriptParts(worktree, dir)]
}

/** The project's configuration file, in the root of its worktree. */
export function projectConfigPath(worktree: string): string {
  return join(worktree, 'troupe.yaml')
}

/** Whether the configuration is a link to a file that is none of the project's: it is never used. */
export function leadsOutside(path: string, worktree: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink() && !realpathSync.native(path).startsWith(worktree + sep)
  } catch {
    return false // There is none, or it leads nowhere: reading it says so.
  }
}

function configPart(worktree: string): SecurityPart | undefined {
  const path = projectConfigPath(worktree)
  const text = leadsOutside(path, worktree) ? undefined : textOf(path)
  return text === undefined
    ? undefined
    : { kind: 'config', path: 'troupe.yaml', hash: sha256(text), lines: configLines(text) }
}

function configLines(text: string): string[] {
  try {
    const value: unknown = parse(text, { logLevel: 'silent', maxAliasCount: 50 })
    if (typeof value === 'object' && value !== null) {
      return Object.entries(value).map(([key, setting]) => capped(`${key}: ${JSON.stringify(setting)}`))
    }
  } catch {
    // What is wrong with it is said when it is loaded.
  }
  return ['it cannot be read as settings']
}

/** An agent that only narrows may change as it likes; one that allows, names a model or asks for servers may not. */
function agentParts(worktree: string, dir: string): SecurityPart[] {
  const seen = new Set<string>()
  return projectFolders(worktree, dir, 'agents')
    .flatMap((folder) => loadFolder(folder, seen))
    .flatMap((found) => (found && 'value' in found ? agentPart(worktree, found.path, found.value.agent) : []))
}

function agentPart(worktree: string, path: string, agent: AgentDefinition): SecurityPart[] {
  const { permission, tools, model, mcpServers } = agent
  const allowed = permission.filter(({ action }) => action === 'allow')
  if (allowed.length === 0 && model === undefined && mcpServers === undefined) return []
  const rules = permission.map(({ key, pattern, action }) => [key, pattern, action])
  const lines = [
    ...allowed.map(({ key, pattern }) => `allows ${key} ${JSON.stringify(pattern)}`),
    ...(model === undefined ? [] : [`model: ${model}`]),
    ...(mcpServers === undefined ? [] : [`mcpServers: ${mcpServers.join(', ')}`]),
  ]
  const hash = sha256(JSON.stringify({ rules, tools, model, mcpServers }))
  return [{ kind: 'agent', path: nameIn(worktree, path), hash, lines: lines.map(capped) }]
}

/** What lies beside a skill's text and may be run by it. */
function scriptParts(worktree: string, dir: string): SecurityPart[] {
  const seen = new Set<string>()
  const paths = projectFolders(worktree, dir, 'skills').flatMap(({ path }) =>
    listFiles(path, (entry) => entry.isFile() && !/\.md$/i.test(entry.name), { seen }),
  )
  const lines = ['a file of a skill, run only by a command that is allowed']
  return paths
    .slice(0, maxScripts)
    .map((path) => ({ kind: 'script', path: nameIn(worktree, path), hash: hashOfFile(path), lines }))
}

/** Of its bytes; what is very large is known by its size and time. */
function hashOfFile(path: string): string {
  try {
    const { size, mtimeMs } = statSync(path)
    return size > maxHashedBytes ? `${size} bytes of ${mtimeMs}` : sha256(readFileSync(path))
  } catch {
    return 'unread'
  }
}

function projectFolders(worktree: string, dir: string, what: 'agents' | 'skills') {
  const folders = definitionFolders({ dir, worktree, userConfigDir: '', builtinDir: '' }, what)
  return folders.filter(({ kind }) => kind === 'project')
}

function nameIn(worktree: string, path: string): string {
  return relative(worktree, path).split(sep).join('/')
}

/** `undefined` for what is no readable text of at most 1 MB. */
function textOf(path: string): string | undefined {
  try {
    return readDefinition(path)
  } catch {
    return undefined
  }
}

function capped(line: string): string {
  return line.length > maxLine ? `${line.slice(0, maxLine)}…` : line
}

/** In hexadecimal digits. */
export function sha256(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex')
}
