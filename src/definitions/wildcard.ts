/**
 * Whether a wildcard (`*`: any text, `?`: one character) covers a text. The text may itself be a wildcard: then true
 * means that all it stands for is covered. Never backtracks past the last `*`, so no pattern makes it slow.
 */
export function wildcardCovers(wildcard: string, text: string): boolean {
  let at = 0
  let star = -1
  let resume = 0
  for (let i = 0; i < text.length; ) {
    if (wildcard[at] === '*') {
      star = at++
      resume = i
    } else if (at < wildcard.length && isOne(wildcard[at]!, text[i]!)) {
      at++
      i++
    } else if (star >= 0) {
      at = star + 1
      i = ++resume
    } else return false
  }
  return /^\**$/.test(wildcard.slice(at))
}

/** Whether a text has a wildcard's signs. */
export function isWildcard(text: string): boolean {
  return /[*?]/.test(text)
}

function isOne(sign: string, char: string): boolean {
  return sign === char || (sign === '?' && char !== '*')
}
