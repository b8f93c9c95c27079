import { modelError } from '../model-errors.ts'
import { isLoopback, shownAddress } from './server-address.ts'

const connectFailures = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'EADDRNOTAVAIL',
  'EPROTO',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** The error of a server that cannot be reached, with the remedy; undefined for any other failure. */
export function unreachableError(error: unknown, url: string): Error | undefined {
  const code = codeOf(error)
  if (code === undefined || !connectFailures.has(code)) return undefined
  const remedy = isLoopback(url)
    ? 'Start it with: ollama serve. Is it elsewhere? Set OLLAMA_HOST.'
    : 'Check OLLAMA_HOST.'
  return modelError('model-unreachable', `No model server at ${shownAddress(url)} (${whyOf(code)}). ${remedy}`, {
    cause: error,
  })
}

function whyOf(code: string): string {
  if (code === 'ECONNREFUSED') return 'connection refused'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'no such host'
  return code
}

/** With several addresses to one name Node reports an AggregateError that holds one error for each. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined
}
