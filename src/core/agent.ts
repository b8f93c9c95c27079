import type { Rule } from './permission.ts'

/** A switch of an agent's tool map: wildcard over canonical tool names; of those that match, the last decides. */
export type ToolSwitch = { pattern: string; allow: boolean }

export type AgentMode = 'primary' | 'subagent' | 'all'

/** Bounds of one session. A missing field means: no bound of the agent's own. */
export type AgentLimits = {
  maxTurns?: number
  maxTokens?: number
  timeoutMs?: number
  /** Children at work at once; those past it are queued. */
  maxChildren?: number
  /** Children of the whole tree; further launches are refused. */
  maxChildrenTotal?: number
  maxDepth?: number
  /** Silence of a child's model, in ms, after which it counts as stalled. */
  stallMs?: number
}

/** How a crashed session is treated, in Erlang/OTP's terms. */
export type RestartPolicy = { restart: 'permanent' | 'transient' | 'temporary'; maxRestarts: number; periodMs: number }

/** An agent, as loaded from Markdown or given in code: plain data, it travels to workers and into journals. */
export type AgentDefinition = {
  name: string
  /** For the model that chooses among agents, and for people. */
  description: string
  /** The system prompt. */
  prompt: string
  mode: AgentMode
  /** `provider/name`; missing: the run's model. */
  model?: string
  toolset?: 'auto' | 'full' | 'compact'
  /** In order. No entry at all: every tool. */
  tools: ToolSwitch[]
  /** In order, all of source `agent`. */
  permission: Rule[]
  limits: AgentLimits
  restart?: Partial<RestartPolicy>
  isolation?: 'thread' | 'worktree'
  /** Ollama's `think`. */
  think?: boolean | 'low' | 'medium' | 'high'
  /** Sampling options passed to the model server, such as `temperature`. */
  options?: Record<string, number | string | boolean>
  /** Wildcards over the names of agents that it may spawn; missing: every one that is no `primary`. */
  spawns?: string[]
  /** Names of the MCP servers that it asks for. */
  mcpServers?: string[]
  /** Extra tools denied at depth > 0: only ever narrows. */
  denyAtDepth?: string[]
  /** Canonical tools that it would have, taken because nobody has trusted the folder that it comes from. */
  withheld?: string[]
  source: { kind: 'builtin' | 'user' | 'project' | 'code'; path?: string }
}

export type SkillDefinition = {
  name: string
  description: string
  /** Absolute path of its SKILL.md. */
  path: string
  source: { kind: 'builtin' | 'user' | 'project' }
}

/** What is wrong with a definition: one line a person can act on. `line` counts from 1. */
export type Diagnostic = { path: string; line?: number; severity: 'error' | 'warning'; message: string }
