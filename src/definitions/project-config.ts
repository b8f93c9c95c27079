import type { Diagnostic } from '../core/agent.ts'
import type { RawConfig } from './config-file.ts'

/**
 * A trusted project's configuration without what only the user may decide: where code is sent, what of private networks is
 * fetched, and allowing everything.
 * A server on this machine is nobody else's, so its address counts.
 */
export function withoutWidening(
  project: RawConfig | undefined,
  user: RawConfig | undefined,
  path: string,
): { raw: RawConfig | undefined; diagnostics: Diagnostic[] } {
  if (!project) return { raw: undefined, diagnostics: [] }
  const diagnostics: Diagnostic[] = []
  const leaveOut = (field: string) => {
    const message = `"${field}" is left out: only the user's own config.yaml may say so.`
    diagnostics.push({ path, severity: 'warning', message })
  }
  const raw: RawConfig = { ...project }
  if (project.servers) raw.servers = ownServers(project.servers, user, leaveOut)
  if (project.permission) raw.permission = narrowPermission(project.permission, leaveOut)
  if (project.webfetch?.allowHosts) {
    raw.webfetch = {}
    leaveOut('webfetch.allowHosts')
  }
  return { raw, diagnostics }
}

function ownServers(
  servers: NonNullable<RawConfig['servers']>,
  user: RawConfig | undefined,
  leaveOut: (field: string) => void,
) {
  const entries = Object.entries(servers).map(([name, server]) => {
    const isFine = server.url === undefined || isLoopback(server.url) || server.url === user?.servers?.[name]?.url
    if (isFine) return [name, server] as const
    leaveOut(`servers.${name}.url`)
    const { url: _, ...rest } = server
    return [name, rest] as const
  })
  return Object.fromEntries(entries)
}

function narrowPermission(permission: NonNullable<RawConfig['permission']>, leaveOut: (field: string) => void) {
  const entries = Object.entries(permission).filter(([key, value]) => {
    const isAll =
      /^\*+$/.test(key) && (value === 'allow' || (typeof value === 'object' && Object.values(value).includes('allow')))
    if (isAll) leaveOut(`permission.${key}`)
    return !isAll
  })
  return Object.fromEntries(entries)
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}
