import type { JournalRecord } from '../core/records.ts'

/**
 * For tests of recovery: `TROUPE_FAULT_AT=<record type>[:n]` kills this program as soon as the n-th record of that type,
 * in all its journals, has been written. Undefined without it.
 */
export function createFaultPoint(spec = process.env.TROUPE_FAULT_AT): ((records: JournalRecord[]) => void) | undefined {
  if (spec === undefined) return undefined
  const [type, n = '1'] = spec.split(':')
  let left = Number(n)
  return (records) => {
    left -= records.filter((record) => record.type === type).length
    if (left <= 0) process.kill(process.pid, 'SIGKILL')
  }
}
