/** How a text indents: by tabs, or by a number of blanks. */
export type IndentUnit = string

/** The tabs and blanks that a line begins with. */
export function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)![0]
}

/** One step of indentation; `undefined` when no line shows one. */
export function indentUnit(lines: readonly string[]): IndentUnit | undefined {
  const indents = lines.filter((line) => line.trim() !== '').map(indentOf)
  if (indents.some((indent) => indent.startsWith('\t'))) return '\t'
  const widths = [...new Set(indents.map(({ length }) => length))].sort((a, b) => a - b)
  const steps = widths.slice(1).map((width, i) => width - widths[i]!)
  return steps.length > 0 ? ' '.repeat(Math.max(2, Math.min(...steps))) : undefined
}

/** Indentation of one style in another. What is no whole step stays as it is where both styles use blanks. */
export function convertIndent(indent: string, from: IndentUnit, to: IndentUnit): string {
  if (from === to) return indent
  const tabs = indent.split('\t').length - 1
  const blanks = indent.length - tabs
  const steps = tabs + blanks / (from === '\t' ? Math.max(2, to.length) : from.length)
  if (to !== '\t' && !Number.isInteger(steps)) return tabs === 0 ? indent : to.repeat(tabs) + ' '.repeat(blanks)
  return to.repeat(Math.round(steps))
}
