import { BlockList, isIP } from 'node:net'

// What IANA's registries of special addresses call not globally reachable, and multicast.
const special = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  special.addSubnet(network, prefix, 'ipv4')
}
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  special.addSubnet(network, prefix, 'ipv6')
}
const global = new BlockList()
global.addSubnet('2000::', 3, 'ipv6')

/** Whether an IP address is one of the public internet: neither this machine, nor its networks, nor reserved. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special.check(address, 'ipv4')
    case 6: {
      const inner = embeddedIpv4(address)
      if (inner !== undefined) return isPublicAddress(inner)
      return global.check(address, 'ipv6') && !special.check(address, 'ipv6')
    }
    default:
      return false
  }
}

/** The IPv4 address that an IPv6 one stands for: mapped (`::ffff:0:0/96`), or behind a translator (`64:ff9b::/96`). */
function embeddedIpv4(address: string): string | undefined {
  if (!URL.canParse(`http://[${address}]/`)) return undefined
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const found = /^(?:::ffff:|64:ff9b::)(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})$/.exec(canonical)
  if (!found) return undefined
  const [high, low] = [found[1] ?? '0', found[2]!].map((part) => Number.parseInt(part, 16)) as [number, number]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
