import { toolsNamed } from './tool-names.ts'

const decisions = /^["']?(allow|ask|deny)["']?$/i
const everyday = new Set(['task', 'agent', 'skill', 'list', 'question', 'patch', 'todo'])

/** Whether a word is the name of a tool, in any spelling. */
export function isToolName(text: string): boolean {
  return text !== '*' && toolsNamed(text).kind !== 'unknown'
}

/** The same for a word that means nothing else in everyday language. */
export function isPlainToolName(text: string): boolean {
  return isToolName(text) && !everyday.has(text.toLowerCase())
}

/** Whether a value can only be a choice of tools. `type: agent` is none: words of everyday language need others beside them. */
export function holdsTools(value: unknown): boolean {
  if (typeof value === 'string') return isToolText(value)
  if (Array.isArray(value)) return value.length > 0 && value.every(holdsTools)
  return value instanceof Map && [...value].some(([key, inner]) => isToolName(String(key)) && isDecision(inner))
}

/** Whether any word of a text names a tool. */
export function namesTool(text: string): boolean {
  return wordsOf(text).some(isToolName)
}

/** `allow`, `ask` or `deny`. */
export function isAction(value: unknown): boolean {
  return typeof value === 'string' && decisions.test(value)
}

/** An action, a switch, or a map with one inside. */
export function isDecision(value: unknown): boolean {
  if (value instanceof Map) return [...value.values()].some(isDecision)
  return typeof value === 'boolean' || isAction(value)
}

/** What in one line of text looks like a choice of tools or a decision about one: `: Read, Grep`, `- Read`, `bash: deny`. */
export function findToolChoice(line: string): string | undefined {
  const item = /^\s*-\s+(.*)$/.exec(line)?.[1]
  if (item !== undefined && isToolText(item)) return item
  const list = /\[[^[\]]*\]\s*$/.exec(line)?.[0]
  if (list !== undefined && isToolText(list)) return list
  for (let at = line.indexOf(':'); at >= 0; at = line.indexOf(':', at + 1)) {
    const value = line.slice(at + 1).trim()
    if (!/^["'].*["']$/.test(value) && isToolText(value)) return line.trim()
  }
  return findDecision(line)
}

function findDecision(line: string): string | undefined {
  for (const [text, key] of line.matchAll(/([\w*?-]+)["']?\s*:\W{0,3}(?:allow|ask|deny|true|false)\b/gi)) {
    if (key === '*' || isPlainToolName(key!)) return text
  }
  return /[\w*?-]+["']?\s*:\s*["']?(?:allow|ask|deny)["']?\s*,?$/i.exec(line)?.[0]
}

function isToolText(text: string): boolean {
  const words = wordsOf(text)
  return words.length > 0 && words.every(isToolName) && (words.length > 1 || isPlainToolName(words[0]!))
}

function wordsOf(text: string): string[] {
  const words = text.replace(/\([^)]*\)/g, '').split(/[\s,[\]"']+/)
  return words.filter((word) => word !== '')
}
