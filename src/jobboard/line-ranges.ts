/** Lines of a file, from 1, both ends included; `of` is how many the file has. */
export type LineRange = { from: number; to: number; of: number }

/** The ranges with one more, in order, those that overlap or touch made one. */
export function addRange(ranges: LineRange[], range: LineRange): LineRange[] {
  const merged: LineRange[] = []
  for (const next of [...ranges, range].sort((one, other) => one.from - other.from)) {
    const last = merged[merged.length - 1]
    if (last === undefined || next.from > last.to + 1) merged.push(next)
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, next.to), of: range.of }
  }
  return merged
}

export function countLines(ranges: LineRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + Math.max(0, to - from + 1), 0)
}
