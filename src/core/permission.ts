/** What a rule says of a request. */
export type Action = 'allow' | 'ask' | 'deny'

/** Where a rule comes from, widest scope first; later scopes count after earlier ones. */
export type RuleSource = 'default' | 'user' | 'project' | 'agent' | 'flag' | 'session'

/**
 * One rule. `key` is a canonical permission key (`bash`, `read`, `edit`, `webfetch`, `task`, `skill`, `mcp`,
 * `external_directory`, `claim`) or a wildcard; `pattern` has `*` and `?` only. Of the rules that match, the last one decides. A
 * stored answer about commands holds words instead: `argv` are those it is about, `more` that others may follow them.
 */
export type Rule = {
  key: string
  pattern: string
  action: Action
  source: RuleSource
  place?: Place
  argv?: string[]
  more?: true
}

/** Where something was written: an absolute path, and the line from 1. */
export type Place = { path: string; line?: number }

/** One thing that a request wants, and what was said of it: `reason` is a short phrase for people, `rule` the one that decided, `grant` what an "always" to it alone would store. */
export type JudgedUnit = { key: string; pattern: string; action: Action; reason: string; rule?: Rule; grant?: Rule }

/** The rules of one agent in a chain of agents. `mayLoosen`: they may allow what the run would ask. */
export type AgentLevel = { rules: Rule[]; mayLoosen: boolean }

/** What one call wants to do, as data: no tool asks by itself. */
export type PermissionRequest = {
  key: string
  /** The command, the path relative to the worktree, the URL, the agent's or the skill's name. */
  pattern: string
  /** The real absolute path, when it lies outside the worktree: judged under `external_directory` as well. */
  outside?: string
  /** Set for a write that another job's claim, or the session's own, speaks against: judged under `claim` as well. */
  claim?: string
  /** Set for an edit that changes what other programs will run: asked about as one of a protected file is. */
  guarded?: true
  /** For a command: the absolute folder in which it runs, when that is not the worktree itself. */
  cwd?: string
}

/** How questions are decided: by a person (`ask`), or without one. */
export type PermissionMode = 'ask' | 'edits' | 'allow' | 'deny' | 'strict'

/** For whom an "always" counts: the tree of the session that asked, or every run in this project from now on. */
export type GrantScope = 'session' | 'project'

/** What a person may answer. `always` also stores `grant`; without a `scope` for the session tree. `text`: why not. */
export type AskAnswer = { decision: 'once' | 'always' | 'reject'; scope?: GrantScope; text?: string }

export type AskKind = 'shell' | 'edit' | 'mcp' | 'acp' | 'other'
