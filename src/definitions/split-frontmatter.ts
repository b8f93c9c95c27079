import { refuse } from './definition-error.ts'
import { findKey, findMeantKey, isAccessKey } from './frontmatter-keys.ts'

/** A definition's text in its two parts; `yaml` is missing where there are no fences. Lines count from 1. */
export type SplitText = { yaml?: string; yamlLine: number; body: string; bodyLine: number }

/**
 * Splits a definition's text at its fences: a byte-order mark, comments and blank lines before the first are skipped,
 * line ends become `\n`. Throws where a fence is missing or unclear: what stands in frontmatter must never become prose.
 */
export function splitFrontmatter(text: string): SplitText {
  const clean = text.replace(/^\uFEFF+/, '').replace(/\r\n?/g, '\n')
  const start = startOfContent(clean)
  const lines = clean.split('\n')
  const first = clean.slice(0, start).split('\n').length - 1
  const language = /^---+\s*(.*?)\s*$/.exec(lines[first] ?? '')?.[1]
  if (!/^---/.test(lines[first] ?? '')) return withoutFences(lines, first)
  if (!/^---\s*$|^---\s*ya?ml\s*$/i.test(lines[first]!)) refuseFence(lines[first]!, language ?? '', first + 1)
  return betweenFences(lines, first)
}

function betweenFences(lines: string[], first: number): SplitText {
  const close = lines.findIndex((line, index) => index > first && line.startsWith('---'))
  if (close < 0) refuse('The frontmatter has no closing fence. Add a line --- after its last key.', first + 1)
  if (!/^---\s*$/.test(lines[close]!)) refuse(`"${lines[close]}" is no closing fence: write --- alone.`, close + 1)
  return {
    yaml: lines.slice(first + 1, close).join('\n'),
    yamlLine: first + 2,
    body: lines.slice(close + 1).join('\n'),
    bodyLine: close + 2,
  }
}

/** Where blank lines and HTML comments at the start end. */
function startOfContent(text: string): number {
  return /^(?:\s*<!--[\s\S]*?-->)*\s*/.exec(text)![0].replace(/[^\n]*$/, '').length
}

function refuseFence(fence: string, language: string, line: number): never {
  const reason = /^----/.test(fence)
    ? 'The opening fence must be --- alone.'
    : `Frontmatter is YAML between two lines ---; "${language}" is not read, and never run.`
  return refuse(reason, line)
}

/** No frontmatter, unless it looks as if only the first fence had got lost or damaged. */
function withoutFences(lines: string[], first: number): SplitText {
  const content = lines.slice(first)
  const fence = content.findIndex((line, index) => index > 0 && /^---\s*$/.test(line))
  const top = content.filter((line) => line.trim() !== '').slice(0, 3)
  const isLost =
    top.slice(0, 1).some(isKeyLine) ||
    (fence > 0 && (top.some(isKeyLine) || content.slice(0, fence).some(isAccessLine)))
  if (isLost) refuse('The opening fence is missing or unclear. Put a line --- before the first key.', first + 1)
  return { yamlLine: first + 1, body: content.join('\n'), bodyLine: first + 1 }
}

function isKeyLine(line: string): boolean {
  const key = keyOf(line) ?? ''
  return findKey(key) !== undefined || findMeantKey(key) !== undefined
}

function isAccessLine(line: string): boolean {
  return isAccessKey(keyOf(line) ?? '')
}

function keyOf(line: string): string | undefined {
  return /^\W{0,2}([A-Za-z][\w-]*)["']?\s*:/.exec(line)?.[1]
}
