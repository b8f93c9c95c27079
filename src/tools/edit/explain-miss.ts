import { headOf } from '../text.ts'
import { lineAt, type Span } from './find-spans.ts'

const maxListed = 10
const maxPassageLines = 12
const maxPassageLineChars = 200

/** Why an edit with several matches was not made, for the model. */
export function explainSeveral(label: string, content: string, spans: readonly Span[]): string {
  const lines = spans.slice(0, maxListed).map(({ start }) => lineAt(content, start))
  const more = spans.length > maxListed ? ' and more' : ''
  return `old_string was found ${spans.length} times in ${label}, on lines ${lines.join(', ')}${more}; nothing was changed. Add lines around it to old_string until it names one place, or set replace_all to change all of them.`
}

/** Why an edit without a match was not made: the passage that comes closest is shown as it stands in the file. */
export function explainMiss(label: string, content: string, wanted: string, readTool: string): string {
  const advice = `Read ${label} again with ${readTool} and copy the text exactly, with its indentation and without line numbers.`
  const passage = closestPassage(content, wanted)
  const shown = passage === undefined ? '' : `\nThe closest passage of the file:\n${passage}`
  return `old_string was not found in ${label}; nothing was changed. ${advice}${shown}`
}

/** Lines from the first one that equals a line of the wanted text but for its surrounding blanks. */
function closestPassage(content: string, wanted: string): string | undefined {
  const wantedLines = wanted.split('\n').map((line) => line.trim())
  const anchors = wantedLines.filter((line) => line.length >= 3)
  const lines = content.split('\n')
  const trimmed = new Map<string, number>()
  for (const [i, line] of lines.entries()) if (!trimmed.has(line.trim())) trimmed.set(line.trim(), i)
  const anchor = anchors.find((line) => trimmed.has(line))
  if (anchor === undefined) return undefined
  const start = Math.max(0, trimmed.get(anchor)! - wantedLines.indexOf(anchor))
  return lines
    .slice(start, start + Math.min(wantedLines.length, maxPassageLines))
    .map((line, i) => `${String(start + i + 1).padStart(6)}\t${headOf(line.replace(/\r$/, ''), maxPassageLineChars)}`)
    .join('\n')
}
