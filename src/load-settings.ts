import type { Diagnostic } from './core/agent.ts'
import type { Config } from './core/config.ts'
import { RuntimeError } from './core/errors.ts'
import type { Rule } from './core/permission.ts'
import type { RunSettings } from './core/settings.ts'
import type { TroupeOptions } from './create-troupe.ts'
import { parseConfig } from './definitions/config-file.ts'
import { lintRules } from './definitions/lint-rules.ts'
import { loadConfig, rulesOf } from './definitions/load-config.ts'
import { userConfigDir } from './definitions/paths.ts'
import { loadGivenTrust, type TrustState } from './definitions/trust.ts'
import { fetchProxies } from './fetch-proxies.ts'
import { defaultRules } from './permissions/default-rules.ts'
import { parseRuleFlag } from './permissions/flags.ts'
import { findKey, permissionKeys } from './permissions/keys.ts'

/** Where a runtime works: all paths are absolute, `worktree` is around `dir`. */
export type RuntimePlace = {
  options: TroupeOptions
  env: NodeJS.ProcessEnv
  dir: string
  dataDir: string
  worktree: string
}

/** What files and options come to. `unused`: the project's configuration, which nobody has trusted. */
export type Configured = {
  config: Config
  settings: RunSettings
  trust: TrustState
  diagnostics: Diagnostic[]
  unused?: string
}

/** Loads configuration as far as it is trusted. Throws `bad-config` with path and line, `bad-usage` for a flag. */
export async function loadSettings({ options, env, dir, dataDir, worktree }: RuntimePlace): Promise<Configured> {
  const trust = options.trust === true ? trustedOnce : await loadGivenTrust(dataDir, worktree, dir)
  const { trusted } = trust
  const loaded = await loadConfig({ worktree, userConfigDir: userConfigDir(env), trusted })
  const rules = loaded.rules.map(withCanonicalKey)
  const config = parseConfig(options.config ?? {}, loaded.config)
  const inCode = options.config?.permission === undefined ? {} : config.permission
  const given = rulesOf(inCode, 'user').map(withCanonicalKey)
  return {
    config,
    settings: settingsOf(options, { config, rules: [...rules, ...given], trusted }),
    trust,
    diagnostics: [...loaded.diagnostics, ...lintConfig(rules)],
    ...(loaded.unused !== undefined && { unused: loaded.unused }),
  }
}

const trustedOnce: TrustState = { trusted: true, refused: false, changed: [], parts: [] }

function lintConfig(rules: Rule[]): Diagnostic[] {
  const [user, project] = (['user', 'project'] as const).map((scope) => rules.filter(({ source }) => source === scope))
  return [...lintRules(user!), ...lintRules(project!, [user!])]
}

function settingsOf(
  options: TroupeOptions,
  { config, rules, trusted }: { config: Config; rules: Rule[]; trusted: boolean },
): RunSettings {
  const flags = [
    ...(options.allow ?? []).map((text) => parseRuleFlag(text, 'allow')),
    ...(options.deny ?? []).map((text) => parseRuleFlag(text, 'deny')),
  ]
  return {
    permissionMode: options.permission ?? 'ask',
    rules: [...defaultRules, ...rules, ...flags],
    projectTrusted: trusted,
    toolset: config.toolset,
    maxDepth: config.maxDepth ?? (config.denyAtDepth ? 3 : 1),
    ...(config.denyAtDepth && { denyAtDepth: config.denyAtDepth }),
    limits: config.limits,
    budget: config.budget,
    prices: config.prices,
    fetchHosts: config.webfetch.allowHosts ?? [],
    fetchProxies: fetchProxies(options.env ?? process.env),
  }
}

/** `write` and `shell` mean `edit` and `bash`, as in flags. */
function withCanonicalKey(rule: Rule): Rule {
  const key = findKey(rule.key)
  if (key !== undefined) return { ...rule, key }
  const where = rule.place === undefined ? '' : `${rule.place.path}:${rule.place.line}: `
  const known = permissionKeys.join(', ')
  throw new RuntimeError('bad-config', `${where}permission: there is no key "${rule.key}". There are: ${known}.`)
}
