import type { AgentDefinition, AgentLimits } from './agent.ts'
import type { PermissionMode, Rule } from './permission.ts'

/** How commands are confined; missing settings mean that they are not. */
export type SandboxSettings = {
  /** What a command may write: nothing, or the worktree but for protected files. */
  mode: 'read-only' | 'workspace-write'
  network: boolean
  /** Commands that stay inside run without a question. */
  runsUnasked: boolean
  /** Why there is no sandbox although one is asked for; then each command is asked about. */
  unusable?: string
}

/** Addresses of proxies by the kind of page; `except`: hosts that are reached directly, as `NO_PROXY` lists them. */
export type FetchProxies = { http?: string; https?: string; except?: string }

/** What one process decides for all sessions it runs: configuration and flags, resolved. Plain data. */
export type RunSettings = {
  permissionMode: PermissionMode
  /** Defaults, configuration and flags, in order of scope; an agent's own rules come on top. */
  rules: Rule[]
  /** An agent file of an untrusted project can only narrow what the rules allow. */
  projectTrusted: boolean
  toolset: 'auto' | 'full' | 'compact'
  maxDepth: number
  /** Set: wildcards removed from every child. Missing: `depthDefaults`, at the deepest level only. */
  denyAtDepth?: string[]
  limits: AgentLimits
  /** Hosts of private networks that `webfetch` may contact; missing: none. */
  fetchHosts?: string[]
  /** Of `webfetch`; missing: none. */
  fetchProxies?: FetchProxies
  sandbox?: SandboxSettings
  /** Bounds of a whole run. */
  budget: { maxTokens?: number; maxCost?: number; maxChildren?: number; timeoutMs?: number }
  /** Per million tokens, by model. */
  prices: Record<string, { input: number; output: number }>
}

/** Whether an agent's own rules may allow what the run would ask: those of an untrusted project only narrow. */
export function agentMayLoosen(
  { source }: Pick<AgentDefinition, 'source'>,
  { projectTrusted }: Pick<RunSettings, 'projectTrusted'>,
): boolean {
  return source.kind !== 'project' || projectTrusted
}

const depthDefaults = ['task', 'task_*', 'read_sub_agent', 'todowrite', 'todoread']

/** Wildcards over canonical tool names that a session at `depth` never gets. */
export function deniedAtDepth(
  { maxDepth, denyAtDepth }: Pick<RunSettings, 'maxDepth' | 'denyAtDepth'>,
  depth: number,
): string[] {
  if (depth === 0) return maxDepth === 0 ? depthDefaults.slice(0, 3) : []
  if (depth >= maxDepth) return denyAtDepth ? [...denyAtDepth, 'task', 'task_*'] : depthDefaults
  return denyAtDepth ?? []
}
