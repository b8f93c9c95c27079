/** A text by its lines. A final line break begins one more, empty line. */
export type TextLines = {
  text: string
  count: number
  /** Offset of a line's first character. */
  start(line: number): number
  /** Offset behind a line's last character; its line break, CR included, is not part of it. */
  end(line: number): number
  /** Every line without the blanks around it. */
  trimmed: readonly string[]
  /** The line on which an offset lies. */
  lineAt(offset: number): number
}

/** Lines count from 0. */
export function textLines(text: string): TextLines {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  const count = starts.length
  const end = (line: number) => {
    const next = line + 1 < count ? starts[line + 1]! - 1 : text.length
    return next > starts[line]! && text[next - 1] === '\r' ? next - 1 : next
  }
  return {
    text,
    count,
    start: (line) => starts[line]!,
    end,
    trimmed: starts.map((start, line) => text.slice(start, end(line)).trim()),
    lineAt(offset) {
      let low = 0
      for (let high = count; high - low > 1; ) {
        const middle = (low + high) >> 1
        if (starts[middle]! <= offset) low = middle
        else high = middle
      }
      return low
    },
  }
}

/** The text to be found, by its lines; a final line break ends the last one and begins none. */
export type WantedLines = { text: string; lines: readonly string[]; trimmed: readonly string[] }

export function wantedLines(text: string): WantedLines {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''))
  if (lines.length > 1 && lines.at(-1) === '') lines.pop()
  return { text, lines, trimmed: lines.map((line) => line.trim()) }
}
