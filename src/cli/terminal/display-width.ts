/** Code points that take two columns: East Asian wide and fullwidth (Unicode's EastAsianWidth.txt), and emoji. */
const wide =
  /[\u1100-\u115f\u231a\u231b\u2329\u232a\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u
/** Marks (variation selectors are among them) and format characters such as the zero-width joiner. */
const zero = /\p{Mn}|\p{Me}|\p{Cf}/u

/** Columns that text without control characters takes on a terminal. */
export function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const char of text) width += charWidth(char)
  return width
}

/** At most `columns` wide; what was cut is marked by `…`. */
export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  const { head } = splitAt(text, Math.max(0, columns - 1))
  return columns > 0 ? `${head}…` : ''
}

/** Filled with blanks to `columns`, or cut. */
export function padTo(text: string, columns: number): string {
  const cut = truncate(text, columns)
  return cut + ' '.repeat(Math.max(0, columns - displayWidth(cut)))
}

/** Lines of at most `columns`, cut anywhere: every character is still there. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let rest = text
  while (displayWidth(rest) > columns) {
    const { head, tail } = splitAt(rest, columns)
    if (head === '') break
    lines.push(head)
    rest = tail
  }
  return [...lines, rest]
}

function splitAt(text: string, columns: number): { head: string; tail: string } {
  let width = 0
  let length = 0
  for (const char of text) {
    width += charWidth(char)
    if (width > columns) break
    length += char.length
  }
  return { head: text.slice(0, length), tail: text.slice(length) }
}

function charWidth(char: string): number {
  if (zero.test(char)) return 0
  return wide.test(char) ? 2 : 1
}
