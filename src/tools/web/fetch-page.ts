import { type IncomingMessage, request as plain } from 'node:http'
import { request as secure } from 'node:https'
import { isAbort, messageOf, RuntimeError } from '../../core/errors.ts'
import type { FetchProxies } from '../../core/settings.ts'
import type { HostGuard } from './host-guard.ts'
import { findProxy, sendThroughProxy } from './proxy.ts'
import { type Body, readBody } from './read-body.ts'

export type PageRequest = {
  url: URL
  accept: string
  guard: HostGuard
  proxies: FetchProxies
  /** Whether a redirect may be followed. */
  mayFollow(to: URL, from: URL): boolean
  signal: AbortSignal
}

export type Page = Body & { url: URL; status: number; contentType: string }

/** Where a redirect leads that was not followed. */
export type Redirect = { redirectsTo: URL; from: URL }

const maxRedirects = 5
const maxBytes = 5 * 1024 * 1024

/**
 * GETs a page, over at most five redirects. Throws `private-address`, `too-many-redirects`, `bad-response`,
 * `fetch-failed`, or the signal's reason.
 */
export async function fetchPage({ url, mayFollow, ...connection }: PageRequest): Promise<Page | Redirect> {
  const { guard, signal } = connection
  let at = url
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    guard.check(at)
    const response = await get(at, connection)
    const target = redirectOf(response, at)
    if (target === undefined) return pageOf(response, at, signal)
    response.destroy()
    if (!mayFollow(target, at)) return { redirectsTo: target, from: at }
    at = target
  }
  throw new RuntimeError('too-many-redirects', `${url.href} redirects more than ${maxRedirects} times.`)
}

/** `undefined` for what cannot be fetched: not http or https, or with a password in it. */
export function webUrl(address: string, base?: URL): URL | undefined {
  if (!URL.canParse(address, base?.href)) return undefined
  const url = new URL(address, base?.href)
  url.hash = ''
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:'
  return isWeb && url.username === '' && url.password === '' && url.hostname !== '' ? url : undefined
}

type Connection = Omit<PageRequest, 'url' | 'mayFollow'>

async function get(url: URL, { accept, guard, proxies, signal }: Connection): Promise<IncomingMessage> {
  const headers = { accept, 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'troupe (webfetch)' }
  const proxy = findProxy(url, proxies)
  if (proxy === undefined) return getDirectly(url, { headers, guard, signal })
  await Promise.race([guard.checkName(url), untilAborted(signal)])
  return sendThroughProxy({ url, proxy, headers, signal }).catch((error) =>
    Promise.reject(explained(error, url, signal)),
  )
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

type Direct = { headers: Record<string, string>; guard: HostGuard; signal: AbortSignal }

function getDirectly(url: URL, { headers, guard, signal }: Direct): Promise<IncomingMessage> {
  const send = url.protocol === 'https:' ? secure : plain
  return new Promise((resolve, reject) => {
    const request = send(url, { method: 'GET', headers, agent: false, lookup: guard.lookup(url), signal })
    request.once('response', resolve)
    request.once('error', (error) => reject(explained(error, url, signal)))
    request.end()
  })
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined) return undefined
  const url = webUrl(headers.location, from)
  if (url !== undefined) return url
  throw new RuntimeError('bad-response', `${from.href} redirects to ${headers.location}, which cannot be fetched.`)
}

async function pageOf(response: IncomingMessage, url: URL, signal: AbortSignal): Promise<Page> {
  const { statusCode: status = 0, headers } = response
  const contentType = headers['content-type'] ?? ''
  try {
    return { url, status, contentType, ...(await readBody(response, maxBytes)) }
  } catch (error) {
    throw explained(error, url, signal)
  }
}

function explained(error: unknown, url: URL, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof RuntimeError || isAbort(error)) return error
  const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
  const message = `${url.href} could not be fetched: ${messageOf(error) || 'no connection'}${code}.`
  return new RuntimeError('fetch-failed', message, { cause: error })
}
