import { levenshtein } from './levenshtein.ts'

const maxNames = 3

/** Up to three of `names` that somebody who wrote `wanted` may have meant, best first. */
export function nearNames(wanted: string, names: readonly string[]): string[] {
  const target = wanted.toLowerCase()
  return names
    .map((name) => ({ name, score: distanceOf(target, name.toLowerCase()) }))
    .filter(({ score }) => score <= Math.max(2, Math.floor(target.length / 3)))
    .sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1))
    .slice(0, maxNames)
    .map(({ name }) => name)
}

/** Edits between the two, or 1 where one contains the other and is long enough to mean something. */
function distanceOf(a: string, b: string): number {
  if (a === b) return 0
  if (Math.min(a.length, b.length) >= 3 && (a.includes(b) || b.includes(a))) return 1
  return levenshtein(a.slice(0, 100), b.slice(0, 100), { left: 10_000 })!
}
