import { structuredPatch } from 'diff'

/** A unified diff with its counts of lines. */
export type FileDiff = { diff: string; added: number; removed: number }

const contextLines = 3
/** Texts that differ more than this are shown as removed and added whole: a minimal diff would take minutes. */
const maxEditLength = 2000

/** The change of one file, named `path` in the head of the diff; no text at all on either side is an empty file. */
export function unifiedDiff(path: string, before: string, after: string): FileDiff {
  if (before === after) return { diff: '', added: 0, removed: 0 }
  const old = linesOf(before)
  const now = linesOf(after)
  const skip = Math.max(0, commonPrefix(old, now) - contextLines)
  const cut = Math.max(0, commonSuffix(old, now, skip + contextLines) - contextLines)
  const hunks = hunksOf(old.slice(skip, old.length - cut), now.slice(skip, now.length - cut), skip)
  const lines = hunks.flatMap((hunk) => [headOf(hunk), ...hunk.lines])
  return {
    diff: `--- a/${path}\n+++ b/${path}\n${lines.join('\n')}\n`,
    added: countOf(hunks, '+'),
    removed: countOf(hunks, '-'),
  }
}

type Hunk = { oldStart: number; oldLines: number; newStart: number; newLines: number; lines: string[] }

/** Only the part that differs is compared, so a small change of a large file is cheap. */
function hunksOf(old: string[], now: string[], skipped: number): Hunk[] {
  const options = { context: contextLines, maxEditLength }
  const patch = structuredPatch('a', 'b', old.join(''), now.join(''), undefined, undefined, options)
  const hunks = patch ? patch.hunks : [wholeReplacement(old, now)]
  return hunks.map((hunk) => ({ ...hunk, oldStart: hunk.oldStart + skipped, newStart: hunk.newStart + skipped }))
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

function commonPrefix(a: string[], b: string[]): number {
  let n = 0
  while (n < a.length && n < b.length && a[n] === b[n]) n++
  return n
}

function commonSuffix(a: string[], b: string[], prefix: number): number {
  const most = Math.min(a.length, b.length) - prefix
  let n = 0
  while (n < most && a[a.length - 1 - n] === b[b.length - 1 - n]) n++
  return n
}
