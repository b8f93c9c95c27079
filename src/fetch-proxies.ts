import type { FetchProxies } from './core/settings.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The proxies that the user's environment sets, small letters first, as curl has it. */
export function fetchProxies(env: Environment): FetchProxies {
  const named = (name: string) => env[name.toLowerCase()] || env[name] || undefined
  const all = named('ALL_PROXY')
  return { http: named('HTTP_PROXY') ?? all, https: named('HTTPS_PROXY') ?? all, except: named('NO_PROXY') }
}
