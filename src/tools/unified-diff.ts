import { structuredPatch } from 'diff'

/** A unified diff with its counts of lines. */
export type FileDiff = { diff: string; added: number; removed: number }

const contextLines = 3
/** Texts that differ more than this are shown as removed and added whole: a minimal diff would take minutes. */
const maxEditLength = 2000
const blockBytes = 65_536
const newline = 0x0a

/** The change of one file in UTF-8, named `path` in the head of the diff. */
export function unifiedDiff(path: string, before: Buffer, after: Buffer): FileDiff {
  if (before.equals(after)) return { diff: '', added: 0, removed: 0 }
  const start = linesBack(before, commonPrefix(before, after), contextLines)
  const tail = commonSuffix(before, after, start)
  const changed = (bytes: Buffer) => bytes.toString('utf8', start, linesOn(bytes, bytes.length - tail, contextLines))
  const hunks = hunksOf(changed(before), changed(after), newlinesBefore(before, start))
  const lines = hunks.flatMap((hunk) => [headOf(hunk), ...hunk.lines])
  return {
    diff: `--- a/${path}\n+++ b/${path}\n${lines.join('\n')}\n`,
    added: countOf(hunks, '+'),
    removed: countOf(hunks, '-'),
  }
}

type Hunk = { oldStart: number; oldLines: number; newStart: number; newLines: number; lines: string[] }

/** Only the part that differs is decoded and compared, so a small change of a large file is cheap. */
function hunksOf(old: string, now: string, skippedLines: number): Hunk[] {
  const options = { context: contextLines, maxEditLength }
  const patch = structuredPatch('a', 'b', old, now, undefined, undefined, options)
  const hunks = patch ? patch.hunks : [wholeReplacement(linesOf(old), linesOf(now))]
  return hunks.map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + skippedLines,
    newStart: hunk.newStart + skippedLines,
  }))
}

function wholeReplacement(old: string[], now: string[]): Hunk {
  const marked = (lines: string[], mark: string) =>
    lines.flatMap((line) =>
      line.endsWith('\n') ? [mark + line.slice(0, -1)] : [mark + line, '\\ No newline at end of file'],
    )
  const lines = [...marked(old, '-'), ...marked(now, '+')]
  return { oldStart: 1, oldLines: old.length, newStart: 1, newLines: now.length, lines }
}

function headOf({ oldStart, oldLines, newStart, newLines }: Hunk): string {
  // An empty side is given as the line before it, as diff(1) does.
  const start = (from: number, lines: number) => (lines === 0 ? from - 1 : from)
  return `@@ -${start(oldStart, oldLines)},${oldLines} +${start(newStart, newLines)},${newLines} @@`
}

function countOf(hunks: Hunk[], mark: '+' | '-'): number {
  return hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.startsWith(mark)).length, 0)
}

/** Lines with their ends. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** Bytes that both begin with; whole blocks are compared at once. */
function commonPrefix(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length)
  let n = 0
  while (n + blockBytes <= most && a.compare(b, n, n + blockBytes, n, n + blockBytes) === 0) n += blockBytes
  while (n < most && a[n] === b[n]) n++
  return n
}

/** Bytes that both end with, none of them before `start`. */
function commonSuffix(a: Buffer, b: Buffer, start: number): number {
  const most = Math.min(a.length, b.length) - start
  const tailOf = (bytes: Buffer, n: number) => bytes.subarray(bytes.length - n - blockBytes, bytes.length - n)
  let n = 0
  while (n + blockBytes <= most && tailOf(a, n).equals(tailOf(b, n))) n += blockBytes
  while (n < most && a[a.length - 1 - n] === b[b.length - 1 - n]) n++
  return n
}

/** Start of the line that lies `lines` lines before the one of `at`. */
function linesBack(bytes: Buffer, at: number, lines: number): number {
  let start = at
  for (let n = 0; n <= lines && start > 0; n++) {
    start = n === 0 ? lineStart(bytes, start) : lineStart(bytes, start - 1)
  }
  return start
}

function lineStart(bytes: Buffer, at: number): number {
  return at === 0 ? 0 : bytes.lastIndexOf(newline, at - 1) + 1
}

/** End of the line that lies `lines` lines after the one of `at`. */
function linesOn(bytes: Buffer, at: number, lines: number): number {
  let end = at
  for (let n = 0; n <= lines && end < bytes.length; n++) {
    const next = bytes.indexOf(newline, end)
    end = next < 0 ? bytes.length : next + 1
  }
  return end
}

function newlinesBefore(bytes: Buffer, end: number): number {
  let count = 0
  for (let at = bytes.indexOf(newline); at >= 0 && at < end; at = bytes.indexOf(newline, at + 1)) count++
  return count
}
