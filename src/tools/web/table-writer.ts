/** What an element did to a table: `rows`, of one that it ended. */
export type TableStep = { rows?: string }

/** Collects the rows of one table; tables within it count as text of their cell. */
export interface TableWriter {
  isOpen(): boolean
  /** `takeText` gives the text since the last step, once. `undefined` when the element is no part of a table. */
  take(element: string, isOpening: boolean, takeText: () => string): TableStep | undefined
  /** The rows of a table that nothing has closed; `undefined`: there is none. */
  finish(text: string): string | undefined
}

const parts = new Set(['table', 'tr', 'td', 'th', 'caption', 'thead', 'tbody', 'tfoot', 'colgroup', 'col'])
/** Every row has as many cells as the widest one: a page could make a few long rows into gigabytes. */
const maxColumns = 50

export function createTableWriter(): TableWriter {
  let depth = 0
  let rows: string[][] = []

  function keep(text: string): void {
    const row = rows.at(-1)
    if (text === '') return
    // Text outside of any cell: a caption, or broken markup.
    if (row === undefined) rows.push([text])
    else row.push(joined(row.pop(), text))
  }

  function begin(element: string): void {
    if (element !== 'tr' && element !== 'td' && element !== 'th') return
    if (element === 'tr' || rows.length === 0) rows.push([])
    const row = rows.at(-1)!
    if (element !== 'tr' && row.length < maxColumns) row.push('')
  }

  function end(): string {
    const text = tableText(rows)
    rows = []
    return text
  }

  return {
    isOpen: () => depth > 0,
    take(element, isOpening, takeText) {
      if (!parts.has(element)) return undefined
      const before = depth
      if (element === 'table') depth = Math.max(0, depth + (isOpening ? 1 : -1))
      if (before > 1 || depth > 1 || before === 0) return {}
      keep(takeText())
      if (isOpening) begin(element)
      return depth === 0 ? { rows: end() } : {}
    },
    finish(text) {
      if (depth === 0) return undefined
      depth = 0
      keep(text)
      return end()
    },
  }
}

function joined(cell: string | undefined, text: string): string {
  return cell ? `${cell} ${text}` : text
}

/** A table of one column is text laid out, no table. */
function tableText(rows: readonly string[][]): string {
  const filled = rows.filter((row) => row.some((cell) => cell !== ''))
  const width = filled.reduce((widest, { length }) => Math.max(widest, length), 0)
  if (width < 2) return filled.map(([cell]) => cell).join('\n')
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  const [head, ...body] = filled.map((row) =>
    Array.from({ length: width }, (_, n) => (row[n] ?? '').replaceAll('|', '\\|')),
  )
  return [line(head!), line(head!.map(() => '---')), ...body.map(line)].join('\n')
}
