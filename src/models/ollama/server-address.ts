import { isIP } from 'node:net'
import { RuntimeError } from '../../core/errors.ts'

/** Where Ollama listens unless told otherwise. */
const defaultAddress = 'http://127.0.0.1:11434'

/**
 * The address that OLLAMA_HOST means, read as Ollama reads it: `host`, `host:port`, `:port`, `http://host`, IPv6 with or
 * without brackets, quotes around it. An address to listen on (0.0.0.0, ::) means this machine. No slash at the end. Throws
 * `bad-server-address` for what is none.
 */
export function parseServerAddress(value: string | undefined): string {
  const text = (value ?? '').trim().replace(/^["']+|["']+$/g, '')
  if (text === '') return defaultAddress
  if (isOtherForm(text)) throw badAddress(text)
  const [, scheme = 'http', rest = ''] = /^(?:(https?):\/\/)?(.*)$/i.exec(text) ?? []
  const hasScheme = rest.length < text.length
  const defaultPort = hasScheme ? (scheme.toLowerCase() === 'https' ? '443' : '80') : '11434'
  const [authority = '', ...path] = rest.split('/')
  const { login, host, port } = splitAuthority(authority)
  if (!isHost(host)) throw badAddress(text)
  const tail = path.join('/').replace(/\/+$/, '')
  return checked(`${scheme.toLowerCase()}://${login}${host}:${port ?? defaultPort}${tail && `/${tail}`}`, text)
}

/** The address without a name and password in it: for messages. */
export function shownAddress(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//')
}

/** True if what is sent there stays on this machine. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

function splitAuthority(authority: string): { login: string; host: string; port?: string } {
  const at = authority.lastIndexOf('@')
  const login = authority.slice(0, at + 1)
  const rest = authority.slice(at + 1)
  if (isIP(rest) === 6) return { login, host: local(`[${rest}]`) }
  const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(rest) ?? ['', rest]
  return { login, host: local(host), ...(isPort(port) && { port }) }
}

/** Ollama takes its default for a port that is none. */
function isPort(port: string | undefined): port is string {
  return port !== undefined && /^\d+$/.test(port) && Number(port) <= 65535
}

function local(host: string): string {
  if (host === '' || host === '0.0.0.0') return '127.0.0.1'
  return host === '[::]' ? '[::1]' : host
}

/** Another scheme, half of one, an empty part of the path, or what belongs to no address: `ftp://x`, `http:/x`, `//x`, `x?y`. */
function isOtherForm(text: string): boolean {
  const rest = text.replace(/^https?:\/\//i, '')
  if (/^https?:/i.test(rest) && !/^https?:\d+(\/|$)/i.test(rest)) return true
  return /^\/*$/.test(rest) || /:\/\/|^\/|\/\/|[?#\\\s]/.test(rest.replace(/\/+$/, ''))
}

function isHost(host: string): boolean {
  return /^\[[\da-f:.]+\]$/i.test(host) || /^[\p{L}\p{N}._-]+$/u.test(host)
}

function checked(url: string, given: string): string {
  if (URL.canParse(url)) return url
  throw badAddress(given)
}

function badAddress(given: string): RuntimeError {
  return new RuntimeError(
    'bad-server-address',
    `"${given.replace(/^(.*?\/\/)?[^/]*@/, '$1')}" is no address of a server. Use host:port or http://host:port.`,
  )
}
