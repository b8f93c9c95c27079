import { wildcardCovers } from './wildcard.ts'

/** Whether all that one pattern of a rule matches, another matches too. Never says yes where that is not so. */
export function patternsCover(wide: string, narrow: string): boolean {
  return readings(narrow).every((text) => readings(wide).some((wildcard) => wildcardCovers(wildcard, text)))
}

/** Whether some text is matched by both patterns of rules. */
export function patternsOverlap(one: string, other: string): boolean {
  return readings(one).some((left) => readings(other).some((right) => haveCommonText(left, right)))
}

/** `git *` also means `git`, and `**` with a slash at the start of a path also means the topmost folder. */
function readings(pattern: string): string[] {
  const spaced = pattern.endsWith(' *') ? [pattern, pattern.slice(0, -2)] : [pattern]
  return spaced.flatMap((text) => (text.startsWith('**/') ? [text, text.slice(3)] : [text]))
}

/** Both walked at once: which ends of `other` are left after each sign of `one`. */
function haveCommonText(one: string, other: string): boolean {
  let at = afterStars(other, new Set([0]))
  for (const sign of one) {
    const next = new Set<number>()
    for (const place of at) {
      if (sign === '*') for (let n = place; n <= other.length; n++) next.add(n)
      else if (other[place] === '*') next.add(place)
      else if (place < other.length && (sign === '?' || other[place] === '?' || other[place] === sign))
        next.add(place + 1)
    }
    at = afterStars(other, next)
  }
  return at.has(other.length)
}

/** A star may stand for nothing. */
function afterStars(text: string, places: Set<number>): Set<number> {
  for (const place of places) if (text[place] === '*') places.add(place + 1)
  return places
}
