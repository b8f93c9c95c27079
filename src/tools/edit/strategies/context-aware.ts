import type { StepBudget } from '../../levenshtein.ts'
import type { Span } from '../find-spans.ts'
import type { TextLines, WantedLines } from '../text-lines.ts'

/** Blocks of the wanted number of lines with its first and last one, where at least half of those between are equal. */
export function contextAware(lines: TextLines, { trimmed }: WantedLines, budget: StepBudget): Span[] {
  const height = trimmed.length
  if (height < 3) return []
  const spans: Span[] = []
  for (let first = 0; first + height <= lines.count; first++) {
    const last = first + height - 1
    if (lines.trimmed[first] !== trimmed[0] || lines.trimmed[last] !== trimmed[height - 1]) continue
    if (height > budget.left) return []
    budget.left -= height
    if (isHalfEqual(lines.trimmed, trimmed, first)) spans.push({ start: lines.start(first), end: lines.end(last) })
  }
  return spans
}

/** Where both lines are empty they do not count. */
function isHalfEqual(actual: readonly string[], wanted: readonly string[], first: number): boolean {
  let equal = 0
  let counted = 0
  for (let i = 1; i < wanted.length - 1; i++) {
    const line = actual[first + i]!
    if (line === '' && wanted[i] === '') continue
    counted++
    if (line === wanted[i]) equal++
  }
  return equal * 2 >= counted
}
