import { readSync } from 'node:fs'
import { RuntimeError } from '../core/errors.ts'
import { type JournalRecord, journalVersion } from '../core/records.ts'
import { findSeq, parseRecord } from './record-line.ts'

/** Lines that no record can be read from: bytes `from` up to `to`, after record `after`. Without bytes: records are missing. */
export type Damage = { from: number; to: number; after: number; before?: number }

/** What is in a journal. Bytes from `end` on hold no record and are cut off before the next append. */
export type Scan = { lastSeq: number; end: number; size: number; damages: Damage[] }

const chunkBytes = 256 * 1024

/**
 * Reads a journal's first `size` bytes once, checks every line, hands on the good records in order. Throws
 * `journal-newer` for a journal that a newer version wrote.
 */
export function scanJournal(
  file: { fd: number; path: string; size: number },
  onRecord?: (record: JournalRecord) => void,
): Scan {
  const scan: Scan = { lastSeq: 0, end: 0, size: file.size, damages: [] }
  let bad: number | undefined
  let lineEnd = 0

  eachLine(file, (line, from) => {
    if (from === 0) refuseNewer(line, file.path)
    lineEnd = from + line.length + 1
    const seq = findSeq(line)
    if (seq === undefined || seq <= scan.lastSeq) {
      bad ??= from
      return
    }
    if (bad !== undefined || seq !== scan.lastSeq + 1) {
      scan.damages.push({ from: bad ?? from, to: from, after: scan.lastSeq, before: seq })
    }
    bad = undefined
    scan.lastSeq = seq
    scan.end = lineEnd
    onRecord?.(parseRecord(line))
  })

  // A last line without its line feed was never acknowledged. A whole one was: it is no torn tail, it is damage.
  if (bad !== undefined) scan.damages.push({ from: bad, to: lineEnd, after: scan.lastSeq })
  return scan
}

/** Every line that ends in a line feed, without it; the bytes are only good during the call. */
function eachLine({ fd, size }: { fd: number; size: number }, onLine: (line: Buffer, from: number) => void): void {
  let buffer = Buffer.allocUnsafe(Math.min(size, chunkBytes))
  let held = 0
  let offset = 0
  while (offset + held < size) {
    if (held === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
    const count = readSync(fd, buffer, held, Math.min(buffer.length - held, size - offset - held), offset + held)
    if (count === 0) return
    const filled = held + count
    const bytes = buffer.subarray(0, filled)
    let start = 0
    for (let feed = bytes.indexOf(10, held); feed !== -1; feed = bytes.indexOf(10, start)) {
      onLine(bytes.subarray(start, feed), offset + start)
      start = feed + 1
    }
    buffer.copyWithin(0, start, filled)
    offset += start
    held = filled - start
  }
}

/** The whole lines, good or not, within the bytes `from` up to `to` of a file; the first may have lost its beginning. */
export function readLines({ fd, from, to }: { fd: number; from: number; to: number }): Buffer[] {
  const bytes = Buffer.alloc(Math.max(0, to - from))
  const filled = readSync(fd, bytes, 0, bytes.length, from)
  const lines: Buffer[] = []
  let start = 0
  for (let feed = bytes.indexOf(10); feed !== -1 && feed < filled; feed = bytes.indexOf(10, start)) {
    lines.push(bytes.subarray(start, feed))
    start = feed + 1
  }
  return lines
}

function refuseNewer(line: Buffer, path: string): void {
  const version = findVersion(line)
  if (version === undefined || version <= journalVersion) return
  throw new RuntimeError(
    'journal-newer',
    `${path} was written by a newer troupe (journal version ${version}, this one reads up to ${journalVersion}). ` +
      'Upgrade troupe to open this session; nothing was changed.',
  )
}

/** Reads it even when the checksum is not ours: a newer version may count otherwise. */
function findVersion(line: Buffer): number | undefined {
  if (line.indexOf('"session.created"') === -1) return undefined
  try {
    const record: unknown = JSON.parse(line.toString('utf8'))
    if (typeof record !== 'object' || record === null || !('version' in record)) return undefined
    return typeof record.version === 'number' ? record.version : undefined
  } catch {
    return undefined // Damaged: the scan says so.
  }
}
