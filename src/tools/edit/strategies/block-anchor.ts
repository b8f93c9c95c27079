import { levenshtein, type StepBudget } from '../../levenshtein.ts'
import type { Span } from '../find-spans.ts'
import type { TextLines, WantedLines } from '../text-lines.ts'

const minSimilarity = 0.65

/**
 * Blocks that begin and end with the wanted first and last line, of nearly its length, whose lines between are similar
 * enough. Of several ends for one beginning, the most similar block counts.
 */
export function blockAnchor(lines: TextLines, wanted: WantedLines, budget: StepBudget): Span[] {
  const height = wanted.trimmed.length
  if (height < 3) return []
  const slack = Math.max(1, Math.floor(height / 4))
  const spans: Span[] = []
  for (const first of anchorsOf(lines, wanted)) {
    budget.left -= 2 * slack
    if (budget.left < 0) return []
    let best = { similarity: 0, last: -1 }
    for (let last = first + Math.max(2, height - slack - 1); last < first + height + slack; last++) {
      if (lines.trimmed[last] !== wanted.trimmed[height - 1]) continue
      const similarity = similarityOf(lines.trimmed.slice(first + 1, last), wanted.trimmed.slice(1, -1), budget)
      if (similarity > best.similarity) best = { similarity, last }
    }
    if (best.similarity >= minSimilarity) spans.push({ start: lines.start(first), end: lines.end(best.last) })
  }
  return spans
}

function* anchorsOf(lines: TextLines, { trimmed }: WantedLines): Iterable<number> {
  for (let at = lines.trimmed.indexOf(trimmed[0]!); at >= 0; at = lines.trimmed.indexOf(trimmed[0]!, at + 1)) yield at
}

/** The average over the lines that both have; two empty lines prove nothing. 0 as soon as the minimum is out of reach. */
function similarityOf(actual: readonly string[], wanted: readonly string[], budget: StepBudget): number {
  const compared = Math.min(actual.length, wanted.length)
  if (compared > budget.left) return 0
  budget.left -= compared
  let reachable = 0
  for (let i = 0; i < compared; i++) reachable += mostSimilar(actual[i]!, wanted[i]!)
  for (let i = 0; i < compared && reachable >= minSimilarity * compared; i++) {
    reachable += lineSimilarity(actual[i]!, wanted[i]!, budget) - mostSimilar(actual[i]!, wanted[i]!)
  }
  return reachable >= minSimilarity * compared ? reachable / compared : 0
}

/** What the lengths alone allow. */
function mostSimilar(a: string, b: string): number {
  return Math.min(a.length, b.length) / Math.max(a.length, b.length, 1)
}

function lineSimilarity(a: string, b: string, budget: StepBudget): number {
  const longest = Math.max(a.length, b.length)
  const distance = levenshtein(a, b, budget)
  return distance === undefined || longest === 0 ? 0 : 1 - distance / longest
}
