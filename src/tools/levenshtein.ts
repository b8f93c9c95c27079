/** What a comparison may still cost, in steps; shared by all comparisons of one task, so that their sum is bounded. */
export type StepBudget = { left: number }

/**
 * Insertions, deletions and replacements that make `b` of `a`. `undefined` when the budget does not suffice: what two
 * texts begin and end with costs nothing, the rest its product of lengths.
 */
export function levenshtein(a: string, b: string, budget: StepBudget): number | undefined {
  const start = commonStart(a, b)
  const end = commonEnd(a, b, start)
  const left = a.slice(start, a.length - end)
  const right = b.slice(start, b.length - end)
  if (left === '' || right === '') return left.length + right.length
  const steps = left.length * right.length
  if (steps > budget.left) return undefined
  budget.left -= steps
  return distance(left, right)
}

function commonStart(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let n = 0
  while (n < most && a.charCodeAt(n) === b.charCodeAt(n)) n++
  return n
}

function commonEnd(a: string, b: string, start: number): number {
  const most = Math.min(a.length, b.length) - start
  let n = 0
  while (n < most && a.charCodeAt(a.length - 1 - n) === b.charCodeAt(b.length - 1 - n)) n++
  return n
}

/** Two rows of the matrix are all that is kept of it. */
function distance(a: string, b: string): number {
  let previous = Uint32Array.from({ length: b.length + 1 }, (_, i) => i)
  let row = new Uint32Array(b.length + 1)
  for (let i = 1; i <= a.length; i++) {
    row[0] = i
    for (let j = 1; j <= b.length; j++) {
      const swap = previous[j - 1]! + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1)
      row[j] = Math.min(swap, previous[j]! + 1, row[j - 1]! + 1)
    }
    ;[previous, row] = [row, previous]
  }
  return previous[b.length]!
}
