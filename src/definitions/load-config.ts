import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import type { Diagnostic } from '../core/agent.ts'
import { type Config, configSchema, type permissionConfig } from '../core/config.ts'
import type { Rule, RuleSource } from '../core/permission.ts'
import { type RawConfig, readConfigFile } from './config-file.ts'
import { withoutWidening } from './project-config.ts'

type PermissionConfig = z.infer<typeof permissionConfig>

export type LoadedConfig = {
  /** The project's settings over the user's over the defaults. What counts of `permission` is `rules`. */
  config: Config
  /** The user's rules, then the project's, each in the order of its file. */
  rules: Rule[]
  /** Paths of the files that were used. */
  sources: string[]
  diagnostics: Diagnostic[]
  /** One line for people: the project has a configuration that was not used, and what to do. */
  ignored?: string
}

/** The project's configuration file, in the root of its worktree. */
export function projectConfigPath(worktree: string): string {
  return join(worktree, 'troupe.yaml')
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
  const userPath = join(request.userConfigDir, 'config.yaml')
  const projectPath = projectConfigPath(request.worktree)
  const user = await readConfigFile(userPath)
  const written = request.trusted ? await readConfigFile(projectPath) : undefined
  const { raw: project, diagnostics } = withoutWidening(written, user, projectPath)
  const loaded: LoadedConfig = {
    config: configSchema.parse(merged(user ?? {}, project ?? {})),
    rules: [...rulesOf(user?.permission ?? {}, 'user'), ...rulesOf(project?.permission ?? {}, 'project')],
    sources: [...(user ? [userPath] : []), ...(project ? [projectPath] : [])],
    diagnostics,
  }
  if (!request.trusted && existsSync(projectPath)) loaded.ignored = ignoredText(projectPath, request.worktree)
  return loaded
}

/** The rules that a `permission` map stands for, in its order. */
export function rulesOf(permission: PermissionConfig, source: RuleSource): Rule[] {
  return Object.entries(permission).flatMap(([key, value]) => {
    if (typeof value === 'string') return [{ key, pattern: '*', action: value, source }]
    return Object.entries(value).map(([pattern, action]) => ({ key, pattern, action, source }))
  })
}

function ignoredText(path: string, worktree: string): string {
  return `${path} is not used: this folder is not trusted. Read it, then: troupe trust ${worktree} (or --trust for one run).`
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
