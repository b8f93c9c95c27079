import { crc32 } from 'node:zlib'
import type { JournalRecord } from '../core/records.ts'

// A line is `{"sum":"<8 hex digits>","seq":1,...}`: the CRC32 of the same text without the sum member, `{"seq":1,...}`.
const head = '{"sum":"'
const seqStart = head.length + 8 + '",'.length
const opening = crc32('{')
const minLength = seqStart + '"seq":1}'.length

/** The record as its line of the journal, line feed included. */
export function encodeLine(record: JournalRecord): string {
  const text = JSON.stringify(record)
  return `${head}${hex(crc32(text))}",${text.slice(1)}\n`
}

/** The seq of a line (without its line feed) whose checksum is right; undefined for a damaged one. Does not parse the rest. */
export function findSeq(line: Buffer): number | undefined {
  if (line.length < minLength || line.toString('latin1', 0, head.length) !== head) return undefined
  const sum = hex(crc32(line.subarray(seqStart), opening))
  if (line.toString('latin1', head.length, seqStart) !== `${sum}",`) return undefined
  const seq = /^"seq":([1-9]\d{0,14})[,}]/.exec(line.toString('latin1', seqStart, seqStart + 24))
  return seq === null ? undefined : Number(seq[1])
}

/** The record of a line that `findSeq` found whole. */
export function parseRecord(line: Buffer): JournalRecord {
  return JSON.parse(`{${line.toString('utf8', seqStart)}`)
}

function hex(sum: number): string {
  return sum.toString(16).padStart(8, '0')
}
