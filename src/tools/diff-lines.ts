import { diffArrays } from 'diff'

/** Lines that follow each other: in both texts, only in the old one, or only in the new one. */
export type LineRun = { mark: ' ' | '-' | '+'; lines: string[] }

/** Steps of Myers' algorithm for one comparison: with its square of the changes, some 100 ms. */
const maxSteps = 250_000

/**
 * How the new lines come from the old ones. Lines that each text has once tie them together (Bram Cohen's patience diff),
 * so many small changes of a large text cost little. What lies between is compared as long as the steps last; past
 * them it counts as removed and added whole: a minimal answer could take minutes, and this thread is not ours alone.
 */
export function diffLines(old: string[], now: string[]): LineRun[] {
  const runs: LineRun[] = []
  const budget = { steps: maxSteps }
  let from = { old: 0, now: 0 }
  for (const anchor of [...anchorsOf(old, now), { old: old.length, now: now.length }]) {
    compare(old.slice(from.old, anchor.old), now.slice(from.now, anchor.now), { runs, budget })
    if (anchor.old < old.length) add(runs, ' ', [old[anchor.old]!])
    from = { old: anchor.old + 1, now: anchor.now + 1 }
  }
  return runs
}

type Place = { old: number; now: number }

function compare(old: string[], now: string[], { runs, budget }: { runs: LineRun[]; budget: { steps: number } }): void {
  const maxEditLength = Math.floor(Math.sqrt(budget.steps))
  const changes = old.length === 0 || now.length === 0 ? undefined : diffArrays(old, now, { maxEditLength })
  if (!changes) {
    if (old.length > 0 && now.length > 0) budget.steps = Math.max(0, budget.steps - maxEditLength ** 2)
    add(runs, '-', old)
    add(runs, '+', now)
    return
  }
  let edits = 0
  for (const { value, added, removed } of changes) {
    if (added || removed) edits += value.length
    add(runs, added ? '+' : removed ? '-' : ' ', value)
  }
  budget.steps = Math.max(0, budget.steps - edits ** 2)
}

function add(runs: LineRun[], mark: LineRun['mark'], lines: string[]): void {
  if (lines.length === 0) return
  const last = runs.at(-1)
  if (last?.mark === mark) for (const line of lines) last.lines.push(line)
  else runs.push({ mark, lines: [...lines] })
}

/** The longest series of lines that each text has exactly once, in the same order in both. */
function anchorsOf(old: string[], now: string[]): Place[] {
  const inOld = uniquePlaces(old)
  const inNow = uniquePlaces(now)
  const common: Place[] = []
  for (const [line, place] of inOld) {
    const other = inNow.get(line)
    if (place >= 0 && other !== undefined && other >= 0) common.push({ old: place, now: other })
  }
  return longestRising(common.sort((a, b) => a.old - b.old))
}

/** Where a line stands; -1 for one that stands in several places. */
function uniquePlaces(lines: string[]): Map<string, number> {
  const places = new Map<string, number>()
  for (const [index, line] of lines.entries()) places.set(line, places.has(line) ? -1 : index)
  return places
}

/** Patience sorting: the longest series in which `now` rises too. */
function longestRising(places: Place[]): Place[] {
  const tops: number[] = []
  const before = new Array<number>(places.length)
  for (const [index, { now }] of places.entries()) {
    let low = 0
    let high = tops.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (places[tops[middle]!]!.now < now) low = middle + 1
      else high = middle
    }
    before[index] = low > 0 ? tops[low - 1]! : -1
    tops[low] = index
  }
  const series: Place[] = []
  for (let index = tops.at(-1) ?? -1; index >= 0; index = before[index]!) series.push(places[index]!)
  return series.reverse()
}
