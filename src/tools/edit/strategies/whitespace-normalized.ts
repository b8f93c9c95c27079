import type { StepBudget } from '../../levenshtein.ts'
import type { Span } from '../find-spans.ts'
import type { TextLines, WantedLines } from '../text-lines.ts'

/**
 * The same words with other blanks between them: within one line (the whole line, where there is nothing else on it), or
 * over as many lines as wanted.
 */
export function whitespaceNormalized(lines: TextLines, wanted: WantedLines, budget: StepBudget): Span[] {
  const words = wanted.text.trim().split(/\s+/)
  const found = words[0] === '' ? [] : wordSpans(lines.text, words, budget)
  const within = found.filter((span) => isOneLine(lines, span)).map((span) => wholeLineOr(lines, span))
  const across = found.filter((span) => !isOneLine(lines, span) && fillsLines(lines, span))
  const windows = (height: number) =>
    words[0] === '' ? blankWindows(lines, height) : across.flatMap((span) => windowsAround(lines, span, height))
  const spans = [...within, ...windows(wanted.lines.length)].filter(({ start, end }) => end > start)
  if (spans.length > 0) return spans
  // With the line break that ends the wanted text taken for one more, empty line.
  return wanted.text.endsWith('\n') ? windows(wanted.lines.length + 1) : []
}

function wordSpans(text: string, words: readonly string[], budget: StepBudget): Span[] {
  const spans: Span[] = []
  for (let start = text.indexOf(words[0]!); start >= 0; ) {
    const end = endOfWords(text, start, words, budget)
    if (budget.left < 0) return []
    if (end !== undefined) spans.push({ start, end })
    start = text.indexOf(words[0]!, end ?? start + 1)
  }
  return spans
}

/** `undefined` when other words stand there. */
function endOfWords(text: string, start: number, words: readonly string[], budget: StepBudget): number | undefined {
  let at = start + words[0]!.length
  for (let i = 1; i < words.length; i++) {
    const word = words[i]!
    const next = behindBlanks(text, at)
    budget.left -= next - at + 1
    if (next === at || !text.startsWith(word, next)) return undefined
    at = next + word.length
  }
  return at
}

function behindBlanks(text: string, from: number): number {
  let at = from
  while (at < text.length && /\s/.test(text[at]!)) at++
  return at
}

function isOneLine(lines: TextLines, { start, end }: Span): boolean {
  return end <= lines.end(lines.lineAt(start))
}

function wholeLineOr(lines: TextLines, span: Span): Span {
  const line = lines.lineAt(span.start)
  return lines.trimmed[line]!.length === span.end - span.start
    ? { start: lines.start(line), end: lines.end(line) }
    : span
}

/** Whether nothing but blanks stands before it on its first line and behind it on its last. */
function fillsLines({ text, start, end, lineAt }: TextLines, span: Span): boolean {
  const before = text.slice(start(lineAt(span.start)), span.start)
  const behind = text.slice(span.end, end(lineAt(span.end - 1)))
  return before.trim() === '' && behind.trim() === ''
}

/** Blocks of `height` lines that hold the span and, besides it, blank lines only. */
function windowsAround(lines: TextLines, span: Span, height: number): Span[] {
  const from = lines.lineAt(span.start)
  const to = lines.lineAt(span.end - 1)
  const spans: Span[] = []
  for (let first = from; first >= 0 && to - first < height; first--) {
    if (first < from && lines.trimmed[first] !== '') break
    const last = first + height - 1
    if (isBlank(lines, to + 1, last)) spans.push({ start: lines.start(first), end: lines.end(last) })
  }
  return spans.reverse()
}

function blankWindows(lines: TextLines, height: number): Span[] {
  const spans: Span[] = []
  for (let last = 0, blank = 0; last < lines.count; last++) {
    blank = lines.trimmed[last] === '' ? blank + 1 : 0
    if (blank >= height) spans.push({ start: lines.start(last - height + 1), end: lines.end(last) })
  }
  return spans.filter(({ start, end }) => end > start)
}

function isBlank({ trimmed, count }: TextLines, from: number, to: number): boolean {
  if (to >= count) return false
  for (let line = from; line <= to; line++) if (trimmed[line] !== '') return false
  return true
}
