import type { Diagnostic } from '../core/agent.ts'
import type { ConfigFile, RawConfig, WrittenRule } from './config-file.ts'

/** What counts of a project's configuration. */
export type ProjectConfig = { raw?: RawConfig; rules: WrittenRule[]; diagnostics: Diagnostic[] }

/** What only the user's own file may say, whatever a project brings and however much it is trusted. */
const userOnly: [key: keyof RawConfig, setting?: string][] = [
  ['webfetch', 'allowHosts'],
  ['sandbox'],
  ['network'],
  ['sandboxedCommands'],
]

/**
 * A trusted project's configuration without what only the user may decide: where code is sent, what of private networks is
 * fetched, what confines commands, and allowing everything.
 * A server on this machine is nobody else's, so its address counts.
 */
export function withoutWidening(project: ConfigFile | undefined, user: ConfigFile | undefined): ProjectConfig {
  if (!project) return { rules: [], diagnostics: [] }
  const diagnostics: Diagnostic[] = []
  const leaveOut = (keys: string[]) => {
    const message = `"${keys.join('.')}" is left out: only the user's own config.yaml may say so.`
    diagnostics.push({ path: project.path, line: project.lineOf(keys), severity: 'warning', message })
  }
  const raw: RawConfig = { ...project.raw }
  if (raw.servers) raw.servers = ownServers(raw.servers, user?.raw, leaveOut)
  for (const [key, setting] of userOnly) {
    const value: unknown = raw[key]
    if (value === undefined || (setting !== undefined && Object(value)[setting] === undefined)) continue
    leaveOut(setting === undefined ? [key] : [key, setting])
    delete raw[key]
  }
  return { raw, rules: narrowRules(project.rules, leaveOut), diagnostics }
}

function ownServers(
  servers: NonNullable<RawConfig['servers']>,
  user: RawConfig | undefined,
  leaveOut: (keys: string[]) => void,
) {
  const entries = Object.entries(servers).map(([name, server]) => {
    const isFine = server.url === undefined || isLoopback(server.url) || server.url === user?.servers?.[name]?.url
    if (isFine) return [name, server] as const
    leaveOut(['servers', name, 'url'])
    const { url: _, ...rest } = server
    return [name, rest] as const
  })
  return Object.fromEntries(entries)
}

/** What a project allows it must name by its key: a wildcard for keys would allow what its author never heard of. */
function narrowRules(rules: WrittenRule[], leaveOut: (keys: string[]) => void): WrittenRule[] {
  const left = new Set<string>()
  return rules.filter(({ key, action }) => {
    const isWide = action === 'allow' && /[*?]/.test(key)
    if (isWide && !left.has(key)) leaveOut(['permission', key])
    if (isWide) left.add(key)
    return !isWide
  })
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}
