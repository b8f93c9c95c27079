import { type IncomingMessage, request as plain, type RequestOptions } from 'node:http'
import { request as secure } from 'node:https'
import type { Socket } from 'node:net'
import { connect } from 'node:tls'
import { RuntimeError } from '../../core/errors.ts'
import type { FetchProxies } from '../../core/settings.ts'

/** The proxy for an address, by the rules that curl made known; `undefined`: none. This machine is always reached directly. */
export function findProxy({ protocol, hostname, port }: URL, proxies: FetchProxies = {}): URL | undefined {
  const address = protocol === 'https:' ? proxies.https : proxies.http
  if (!address || isLocal(hostname)) return undefined
  const usual = protocol === 'https:' ? '443' : '80'
  if (isExcepted({ host: hostname.replace(/^\[|\]$/g, ''), port: port || usual }, proxies.except ?? ''))
    return undefined
  return parseProxy(address)
}

function isLocal(hostname: string): boolean {
  return /^(localhost\.?|.*\.localhost\.?|127\.[\d.]+|\[::1\])$/.test(hostname)
}

/** `except`: names with all that ends in them, addresses, each with a port or without; `*` is all. */
function isExcepted({ host, port }: { host: string; port: string }, except: string): boolean {
  const entries = except.split(/[\s,]+/).filter((entry) => entry !== '')
  return entries.some((entry) => {
    if (entry === '*') return true
    const [, name = '', only] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(entry.toLowerCase().replace(/^\*?\./, '')) ?? []
    const isHost = host === name || host.endsWith(`.${name}`)
    return name !== '' && isHost && (only === undefined || only === port)
  })
}

function parseProxy(address: string): URL {
  const whole = /^[a-z\d]+:\/\//i.test(address) ? address : `http://${address}`
  const url = URL.canParse(whole) ? new URL(whole) : undefined
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return url
  const shown = url ? `${url.protocol}//${url.host}` : 'what it names'
  throw new RuntimeError(
    'bad-proxy',
    `The environment sets a proxy of a kind that is not known: ${shown}. The user can set HTTPS_PROXY and HTTP_PROXY to an http address, or name the host in NO_PROXY.`,
  )
}

export type ProxiedRequest = { url: URL; proxy: URL; headers: Record<string, string>; signal: AbortSignal }

/** GETs an address through a proxy: http by asking the proxy for it, https through a tunnel that the proxy cannot look into. */
export async function sendThroughProxy(request: ProxiedRequest): Promise<IncomingMessage> {
  const { url, proxy, headers, signal } = request
  if (url.protocol === 'http:') {
    return answerOf({ ...hop(proxy), path: url.href, headers: { ...headers, ...login(proxy), host: url.host }, signal })
  }
  const socket = await openTunnel(request)
  const servername = url.hostname.replace(/^\[|\]$/g, '')
  return new Promise((resolve, reject) => {
    const createConnection = () => connect({ socket, servername, ALPNProtocols: ['http/1.1'] })
    const get = secure(url, { method: 'GET', headers: { ...headers, host: url.host }, createConnection, signal })
    get.once('response', resolve).once('error', reject).end()
  })
}

function answerOf(options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sender(options)({ ...options, method: 'GET', agent: false })
      .once('response', resolve)
      .once('error', reject)
      .end()
  })
}

function openTunnel({ url, proxy, signal }: ProxiedRequest): Promise<Socket> {
  const host = `${url.hostname}:${url.port || 443}`
  const options = { ...hop(proxy), method: 'CONNECT', path: host, headers: { host, ...login(proxy) }, agent: false }
  return new Promise((resolve, reject) => {
    sender(options)({ ...options, signal })
      .once('connect', ({ statusCode = 0 }, socket) => {
        if (statusCode === 200) return resolve(socket)
        socket.destroy()
        reject(refused(proxy, statusCode))
      })
      .once('response', (response) => {
        response.destroy()
        reject(refused(proxy, response.statusCode ?? 0))
      })
      .once('error', reject)
      .end()
  })
}

function sender({ protocol }: RequestOptions): typeof plain {
  return protocol === 'https:' ? secure : plain
}

function hop({ protocol, hostname, port }: URL): RequestOptions {
  return { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), port: port || (protocol === 'https:' ? 443 : 80) }
}

function login({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const words = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(words).toString('base64')}` }
}

function refused({ host }: URL, status: number): RuntimeError {
  const why = status === 407 ? ', because it wants a login: set it in the address of the proxy' : ''
  return new RuntimeError('proxy-refused', `The proxy ${host} refused the connection with status ${status}${why}.`)
}
