import { diffLines, type LineRun } from './diff-lines.ts'

/** A unified diff with its counts of lines. */
export type FileDiff = { diff: string; added: number; removed: number }

const contextLines = 3
/** Bytes of change of either text: past the first bound it is shown as removed and added whole, past the second not at all. */
const maxComparedBytes = 1024 * 1024
const maxShownBytes = 4 * 1024 * 1024
const blockBytes = 65_536
const newline = 0x0a

/** The change of one file in UTF-8, named `path` in the head of the diff. */
export function unifiedDiff(path: string, before: Buffer, after: Buffer): FileDiff {
  if (before.equals(after)) return { diff: '', added: 0, removed: 0 }
  const start = linesBack(before, commonPrefix(before, after), contextLines)
  const tail = commonSuffix(before, after, start)
  const [old, now] = [before, after].map((bytes) =>
    bytes.subarray(start, linesOn(bytes, bytes.length - tail, contextLines)),
  )
  return describe(path, { old: old!, now: now! }, newlinesBefore(before, start))
}

function describe(path: string, changed: { old: Buffer; now: Buffer }, skipped: number): FileDiff {
  const bytes = Math.max(changed.old.length, changed.now.length)
  const head = `--- a/${path}\n+++ b/${path}\n`
  if (bytes > maxShownBytes) {
    const [removed, added] = [countLines(changed.old), countLines(changed.now)]
    const start = skipped + 1
    const hunk = headOf({ oldStart: start, oldLines: removed, newStart: start, newLines: added })
    return { diff: `${head}${hunk}\n... [${changed.old.length + changed.now.length} more characters]`, added, removed }
  }
  const [old, now] = [linesOf(changed.old.toString('utf8')), linesOf(changed.now.toString('utf8'))]
  const hunks = hunksOf(bytes > maxComparedBytes ? replaced(old, now) : diffLines(old, now), skipped)
  const lines = hunks.flatMap((hunk) => [headOf(hunk), ...hunk.lines])
  return { diff: `${head}${lines.join('\n')}\n`, added: countOf(hunks, '+'), removed: countOf(hunks, '-') }
}

function replaced(old: string[], now: string[]): LineRun[] {
  return [
    { mark: '-', lines: old },
    { mark: '+', lines: now },
  ]
}

type Hunk = { oldStart: number; oldLines: number; newStart: number; newLines: number; lines: string[] }

/** Runs of equal lines shrink to what a reader needs around each change. `skipped` lines come before the first run. */
function hunksOf(runs: LineRun[], skipped: number): Hunk[] {
  const hunks: Hunk[] = []
  let at = { old: skipped + 1, now: skipped + 1 }
  let open: Hunk | undefined
  for (const [index, { mark, lines }] of runs.entries()) {
    if (mark !== ' ') {
      open ??= newHunk(hunks, at)
      put(open, mark, lines)
    } else {
      const isLast = index === runs.length - 1
      const after = open ? (isLast || lines.length > 2 * contextLines ? contextLines : lines.length) : 0
      if (open) put(open, ' ', lines.slice(0, after))
      if (after < lines.length) open = undefined
      const before = isLast ? [] : lines.slice(Math.max(after, lines.length - contextLines))
      if (before.length > 0) {
        open = newHunk(hunks, {
          old: at.old + lines.length - before.length,
          now: at.now + lines.length - before.length,
        })
        put(open, ' ', before)
      }
    }
    at = { old: at.old + (mark === '+' ? 0 : lines.length), now: at.now + (mark === '-' ? 0 : lines.length) }
  }
  return hunks
}

function newHunk(hunks: Hunk[], { old, now }: { old: number; now: number }): Hunk {
  const hunk: Hunk = { oldStart: old, oldLines: 0, newStart: now, newLines: 0, lines: [] }
  hunks.push(hunk)
  return hunk
}

function put(hunk: Hunk, mark: LineRun['mark'], lines: string[]): void {
  if (mark !== '+') hunk.oldLines += lines.length
  if (mark !== '-') hunk.newLines += lines.length
  for (const line of lines) {
    if (line.endsWith('\n')) hunk.lines.push(mark + line.slice(0, -1))
    else hunk.lines.push(mark + line, '\\ No newline at end of file')
  }
}

function headOf({ oldStart, oldLines, newStart, newLines }: Omit<Hunk, 'lines'>): string {
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

function countLines(bytes: Buffer): number {
  return newlinesBefore(bytes, bytes.length) + (bytes.length > 0 && bytes.at(-1) !== newline ? 1 : 0)
}
