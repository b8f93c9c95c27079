import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import type { Diagnostic } from '../core/agent.ts'
import { type Config, configSchema, type permissionConfig } from '../core/config.ts'
import type { Rule, RuleSource } from '../core/permission.ts'
import { type RawConfig, readConfigFile, type WrittenRule } from './config-file.ts'
import { withoutWidening } from './project-config.ts'
import { leadsOutside, projectConfigPath } from './security-parts.ts'

type PermissionConfig = z.infer<typeof permissionConfig>

export type LoadedConfig = {
  /** The project's settings over the user's over the defaults. What counts of `permission` is `rules`. */
  config: Config
  /** The user's rules, then the project's, each in the order of its file. */
  rules: Rule[]
  /** Paths of the files that were used. */
  sources: string[]
  diagnostics: Diagnostic[]
  /** Path of the project's configuration, when it has one that was not used for want of trust. */
  unused?: string
}

/**
 * Loads the user's `config.yaml` and the project's `troupe.yaml`; of an untrusted project nothing is even read. Throws
 * `bad-config` with path, line, field and reason.
 */
export async function loadConfig(request: {
  worktree: string
  userConfigDir: string
  trusted: boolean
}): Promise<LoadedConfig> {
  const { worktree, trusted } = request
  const userPath = join(request.userConfigDir, 'config.yaml')
  const projectPath = projectConfigPath(worktree)
  const isForeign = leadsOutside(projectPath, worktree)
  const user = await readConfigFile(userPath)
  const written = trusted && !isForeign ? await readConfigFile(projectPath) : undefined
  const { raw: project, rules, diagnostics } = withoutWidening(written, user)
  const loaded: LoadedConfig = {
    config: configSchema.parse(merged(user?.raw ?? {}, project ?? {})),
    rules: [...sourced(user?.rules ?? [], 'user'), ...sourced(rules, 'project')],
    sources: [...(user ? [userPath] : []), ...(project ? [projectPath] : [])],
    diagnostics: isForeign ? [...diagnostics, foreign(projectPath)] : diagnostics,
  }
  if (!trusted && !isForeign && existsSync(projectPath)) loaded.unused = projectPath
  return loaded
}

function sourced(rules: WrittenRule[], source: RuleSource): Rule[] {
  return rules.map((rule) => ({ ...rule, source }))
}

function foreign(path: string): Diagnostic {
  const message = 'This is a link to a file outside of the folder and is not used. Put the file itself there.'
  return { path, severity: 'warning', message }
}

/** The rules that a `permission` map stands for, in its order. */
export function rulesOf(permission: PermissionConfig, source: RuleSource): Rule[] {
  return Object.entries(permission).flatMap(([key, value]) => {
    if (typeof value === 'string') return [{ key, pattern: '*', action: value, source }]
    return Object.entries(value).map(([pattern, action]) => ({ key, pattern, action, source }))
  })
}

function merged(user: RawConfig, project: RawConfig): RawConfig {
  const both: RawConfig = { ...user, ...project }
  both.limits = { ...user.limits, ...project.limits }
  both.webfetch = { ...user.webfetch, ...project.webfetch }
  both.servers = mergedServers(user.servers ?? {}, project.servers ?? {})
  both.permission = mergedPermission(user.permission ?? {}, project.permission ?? {})
  if (user.denyAtDepth && project.denyAtDepth)
    both.denyAtDepth = [...new Set([...user.denyAtDepth, ...project.denyAtDepth])]
  return both
}

function mergedServers(user: NonNullable<RawConfig['servers']>, project: NonNullable<RawConfig['servers']>) {
  const names = new Set([...Object.keys(user), ...Object.keys(project)])
  return Object.fromEntries([...names].map((name) => [name, { ...user[name], ...project[name] }]))
}

/** One map for people to look at; the same key in both files has the patterns of both. */
function mergedPermission(user: PermissionConfig, project: PermissionConfig): PermissionConfig {
  const both: PermissionConfig = { ...user }
  for (const [key, value] of Object.entries(project)) {
    const before = both[key]
    delete both[key]
    both[key] = before === undefined || typeof value === 'string' ? value : { ...patternsOf(before), ...value }
  }
  return both
}

function patternsOf(value: PermissionConfig[string]) {
  return typeof value === 'string' ? { '*': value } : value
}
