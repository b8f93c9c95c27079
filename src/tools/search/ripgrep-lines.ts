import * as z from 'zod'
import { cutAround } from '../text.ts'
import { type LineMatch, maxLineChars } from './search-pattern.ts'

/** What ripgrep found in one file. */
export type FileLines = { path: string; matches: LineMatch[] }

/** A match in a line longer than this is told without the line: it would have to be held whole. */
const maxRecordBytes = 1024 * 1024

const data = z.union([z.object({ text: z.string() }), z.object({ bytes: z.string() })])
const record = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('match'),
    data: z.object({
      path: data,
      lines: data,
      line_number: z.number(),
      submatches: z.array(z.object({ start: z.number(), end: z.number() })),
    }),
  }),
  z.object({ type: z.literal('end'), data: z.object({ path: data, binary_offset: z.number().nullable() }) }),
])

const summary = z.object({ data: z.object({ stats: z.object({ searches: z.number() }) }) })

/** Collects the files of `rg --json`, without those that turn out to be binary; output may come in any pieces. */
export function createLineCollector() {
  const files = new Map<string, FileLines>()
  let lines = 0
  const keep = (path: string, match: LineMatch) => {
    const file = files.get(path) ?? { path, matches: [] }
    files.set(path, file)
    file.matches.push(match)
    lines++
  }
  let searched = 0
  const take = (line: string) => {
    if (line.endsWith('"type":"summary"}')) searched = summary.parse(JSON.parse(line)).data.stats.searches
    if (!/"type":"(match|end)"/.test(line.slice(0, 40))) return
    const { type, data } = record.parse(JSON.parse(line))
    const path = bytesOf(data.path).toString('utf8')
    if (type === 'match')
      keep(path, { line: data.line_number, text: lineText(bytesOf(data.lines), data.submatches[0]) })
    else if (data.binary_offset !== null) files.delete(path)
  }
  const takeHuge = (head: string) => {
    const match = /^.*?"submatches":\[\{.*?"start":\d+,"end":\d+\}/s.exec(head)?.[0]
    // The line itself is short enough: it matches in very many places.
    if (match !== undefined) return take(`${match}]}}`)
    const path = /"path":(\{"text":".*?"\}|\{"bytes":".*?"\}),"lines"/.exec(head)?.[1]
    if (path !== undefined) keep(bytesOf(data.parse(JSON.parse(path))).toString('utf8'), hugeLine)
  }
  return {
    write: createSplitter(take, takeHuge),
    files,
    /** Files that were looked at; known in the end. */
    searched: () => searched,
    lines: () => lines,
  }
}

const hugeLine: LineMatch = { line: 0, text: '[a match in a line of more than a megabyte]' }

function bytesOf(value: z.output<typeof data>): Buffer {
  return 'text' in value ? Buffer.from(value.text, 'utf8') : Buffer.from(value.bytes, 'base64')
}

/** Offsets of ripgrep are in bytes. */
function lineText(bytes: Buffer, match: { start: number; end: number } | undefined): string {
  const line = bytes.toString('utf8').replace(/\r?\n$/, '')
  if (line.length <= maxLineChars || match === undefined) return line
  const at = (offset: number) => bytes.toString('utf8', 0, offset).length
  return cutAround(line, at(match.start), at(match.end), maxLineChars)
}

/** Whole lines; of one that is too long, the beginning. */
function createSplitter(onLine: (line: string) => void, onHuge: (head: string) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let length = 0
  const keep = (part: Buffer) => {
    if (length <= maxRecordBytes) parts.push(Buffer.from(part))
    length += part.length
  }
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      const next = chunk.indexOf(0x0a, at)
      keep(chunk.subarray(at, next < 0 ? chunk.length : next))
      if (next < 0) return
      const line = Buffer.concat(parts)
      if (length <= maxRecordBytes) onLine(line.toString('utf8'))
      else onHuge(line.toString('utf8', 0, maxRecordBytes))
      parts = []
      length = 0
      at = next + 1
    }
  }
}
