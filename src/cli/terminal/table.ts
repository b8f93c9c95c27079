import { displayWidth, padTo, truncate } from './display-width.ts'
import { oneLine } from './sanitize.ts'

const gap = 2

/** Lines of a table with a heading; the last column is cut to what is left of `columns`. Cells are made one safe line each. */
export function tableLines(heading: string[], rows: string[][], columns = Number.POSITIVE_INFINITY): string[] {
  const cells = [heading, ...rows].map((row) => row.map(oneLine))
  const widths = heading.map((_, at) => Math.max(...cells.map((row) => displayWidth(row[at] ?? ''))))
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + gap, 0)
  const lastWidth = Math.max(10, columns - before)
  return cells.map((row) =>
    row
      .map((cell, at) => sized(cell, at === widths.length - 1, widths[at]!, lastWidth))
      .join(' '.repeat(gap))
      .trimEnd(),
  )
}

function sized(cell: string, last: boolean, width: number, lastWidth: number): string {
  return last ? truncate(cell, lastWidth) : padTo(cell, width)
}
