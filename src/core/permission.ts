/** What a rule says of a request. */
export type Action = 'allow' | 'ask' | 'deny'

/** Where a rule comes from, widest scope first; later scopes count after earlier ones. */
export type RuleSource = 'default' | 'user' | 'project' | 'agent' | 'flag' | 'session'

/**
 * One rule. `key` is a canonical permission key (`bash`, `read`, `edit`, `webfetch`, `task`, `skill`, `mcp`,
 * `external_directory`, `claim`) or a wildcard; `pattern` has `*` and `?` only. Of the rules that match, the last one decides.
 */
export type Rule = { key: string; pattern: string; action: Action; source: RuleSource }

/** What one call wants to do, as data: no tool asks by itself. */
export type PermissionRequest = {
  key: string
  /** The command, the path relative to the worktree, the URL, the agent's or the skill's name. */
  pattern: string
  /** The real absolute path, when it lies outside the worktree: judged under `external_directory` as well. */
  outside?: string
  /** Set for a write that another job's claim, or the session's own, speaks against: judged under `claim` as well. */
  claim?: string
  /** For a command: the absolute folder in which it runs, when that is not the worktree itself. */
  cwd?: string
}

/** How questions are decided: by a person (`ask`), or without one. */
export type PermissionMode = 'ask' | 'edits' | 'allow' | 'deny' | 'strict'

/** What a person may answer. `always` also stores `grant` for the session tree. */
export type AskAnswer = { decision: 'once' | 'always' | 'reject'; text?: string }

export type AskKind = 'shell' | 'edit' | 'mcp' | 'acp' | 'other'
