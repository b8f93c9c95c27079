import { headOf } from '../text.ts'
import { lineAt, type Span } from './find-spans.ts'

const maxListed = 10
const maxPassageLines = 12
const maxPassageLineChars = 200
/** Equal lines of the wanted text that are told apart. */
const maxPlaces = 10

/** Why an edit with several matches was not made, for the model. */
export function explainSeveral(label: string, content: string, spans: readonly Span[]): string {
  const lines = spans.slice(0, maxListed).map(({ start }) => lineAt(content, start))
  const more = spans.length > maxListed ? ' and more' : ''
  return `old_string was found ${spans.length} times in ${label}, on lines ${lines.join(', ')}${more}; nothing was changed. Add lines around it to old_string until it names one place, or set replace_all to change all of them.`
}

/** Why an edit whose text is only similar to a longer passage was not made: the passage is shown as it stands in the file. */
export function explainDisproportion(label: string, content: string, span: Span): string {
  const first = lineAt(content, span.start) - 1
  const lines = content.slice(0, span.end).split('\n').slice(first)
  const range = lines.length > 1 ? `lines ${first + 1}-${first + lines.length}` : `line ${first + 1}`
  return `old_string was not found in ${label} as it stands there; ${range} come close, but are more than old_string says, so nothing was changed. This is the file's text; copy from it exactly, without line numbers:\n${numbered(lines, first)}`
}

/** Why an edit without a match was not made: the passage that comes closest is shown as it stands in the file. */
export function explainMiss(label: string, content: string, wanted: string, readTool: string): string {
  const advice = `Read ${label} again with ${readTool} and copy the text exactly, with its indentation and without line numbers.`
  const passage = closestPassage(content.split('\n'), wanted.split('\n'))
  const shown = passage === undefined ? '' : `\nThe closest passage of the file:\n${passage}`
  return `old_string was not found in ${label}; nothing was changed. ${advice}${shown}`
}

function closestPassage(lines: readonly string[], wanted: readonly string[]): string | undefined {
  const first = mostEqual(lines, wanted) ?? mostSimilar(lines, wanted)
  if (first === undefined) return undefined
  const from = Math.max(0, first)
  const shown = lines.slice(from, first + wanted.length)
  return numbered(shown, from)
}

/** Where the passage would begin of which most is equal, blanks aside: every equal line votes, a long one more. */
function mostEqual(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const places = new Map<string, number[]>()
  for (const [at, line] of wanted.entries()) {
    const text = line.trim()
    const known = places.get(text) ?? []
    if (text.length >= 3 && known.length < maxPlaces) places.set(text, [...known, at])
  }
  const votes = new Map<number, number>()
  for (const [at, line] of lines.entries()) {
    const text = line.trim()
    for (const place of places.get(text) ?? []) {
      votes.set(at - place, (votes.get(at - place) ?? 0) + Math.min(text.length, 40))
    }
  }
  return best(votes)
}

/** Where the passage would begin that has the line most like the longest one wanted: half of its pairs of letters, or more. */
function mostSimilar(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const texts = wanted.map((line) => headOf(line.trim(), maxPassageLineChars))
  const longest = texts.reduce((best, text, at) => (text.length > texts[best]!.length ? at : best), 0)
  const text = texts[longest]!
  const pairs = pairsOf(text)
  let found = { similarity: 0.5, first: -1 }
  for (const [at, raw] of lines.entries()) {
    const line = headOf(raw.trim(), maxPassageLineChars)
    if (Math.min(line.length, text.length) * 2 < Math.max(line.length, text.length)) continue
    const similarity = countPairs(line, pairs) / Math.max(line.length - 1, text.length - 1, 1)
    if (similarity > found.similarity) found = { similarity, first: at - longest }
  }
  return found.similarity > 0.5 ? found.first : undefined
}

const pairKeys = 65_536

/** Which pairs of letters a text has, by a key; different pairs may share one: then a passage seems a little closer. */
function pairsOf(text: string): Uint8Array {
  const pairs = new Uint8Array(pairKeys)
  for (let at = 1; at < text.length; at++) pairs[pairKey(text.charCodeAt(at - 1), text.charCodeAt(at))] = 1
  return pairs
}

function countPairs(text: string, pairs: Uint8Array): number {
  let count = 0
  let before = text.charCodeAt(0)
  for (let at = 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    count += pairs[pairKey(before, code)]!
    before = code
  }
  return count
}

function pairKey(one: number, other: number): number {
  return (one * 257 + other) & (pairKeys - 1)
}

function best(scores: ReadonlyMap<number, number>): number | undefined {
  let found: number | undefined
  for (const [at, score] of scores) if (found === undefined || score > scores.get(found)!) found = at
  return found
}

function numbered(lines: readonly string[], first: number): string {
  const rows = lines
    .slice(0, maxPassageLines)
    .map((line, i) => `${String(first + i + 1).padStart(6)}\t${headOf(line.replace(/\r$/, ''), maxPassageLineChars)}`)
  return [...rows, ...(lines.length > maxPassageLines ? ['   ...'] : [])].join('\n')
}
