import { lookup } from 'node:dns'
import { lookup as lookupAll } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { RuntimeError } from '../../core/errors.ts'
import { matches } from '../../permissions/wildcard.ts'
import { isPublicAddress } from './public-address.ts'

/** Decides to which machine a request may go, at the moment it connects. */
export type HostGuard = {
  /** Throws `private-address` for an address written in the URL itself, which nothing looks up. */
  check(url: URL): void
  /** Looks a name up and hands on public addresses alone: what was judged is what is connected to. */
  lookup(url: URL): LookupFunction
  /**
   * For a proxy, which looks the name up itself. Throws `private-address` when the name leads into a private network as seen
   * from here; one that is not known here is the proxy's to judge.
   */
  checkName(url: URL): Promise<void>
}

/** `allowed`: hosts, with a port or without, that may lie in a private network; `*` stands for any text. */
export function createHostGuard(allowed: readonly string[]): HostGuard {
  const isAllowed = ({ hostname, port, protocol }: URL) => {
    const withPort = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
    const names = allowed.map((name) => name.toLowerCase())
    return names.some((name) => matches(name, hostname) || matches(name, withPort))
  }
  return {
    check(url) {
      const address = url.hostname.replace(/^\[|\]$/g, '')
      if (isIP(address) !== 0 && !isPublicAddress(address) && !isAllowed(url)) throw privateAddress(url)
    },
    async checkName(url) {
      if (isAllowed(url)) return
      const addresses = await lookupAll(url.hostname, { all: true }).catch(() => [])
      if (addresses.some(({ address }) => !isPublicAddress(address))) throw privateAddress(url)
    },
    lookup: (url) => (hostname, options, callback) => {
      lookup(hostname, { ...options, all: true }, (error, addresses) => {
        if (error) return callback(error, '')
        const usable = isAllowed(url) ? addresses : addresses.filter(({ address }) => isPublicAddress(address))
        const first = usable[0]
        if (first === undefined) return callback(privateAddress(url), '')
        return options.all ? callback(null, usable) : callback(null, first.address, first.family)
      })
    },
  }
}

function privateAddress({ host }: URL): RuntimeError {
  return new RuntimeError(
    'private-address',
    `${host} is this machine or lies in a private network; it was not contacted. The user can allow it by naming it in the configuration: webfetch: { allowHosts: ["${host}"] }.`,
  )
}
