import { isNear } from './near.ts'
import { canonicalTools, toolsNamed } from './tool-names.ts'

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

/** Whether a word is a tool's name but for one slip. */
export function isNearToolName(text: string): boolean {
  return canonicalTools.some((name) => name.length > 3 && isNear(text.toLowerCase(), name, 1))
}

/** What in one line of text looks like a choice of tools or a decision about one: `: Read, Grep`, `- Read`, `bash: deny`. */
export function findToolChoice(line: string): string | undefined {
  const item = /^\W{0,9}\w?\s{0,9}-\s+(.*)$/.exec(line)?.[1]
  if (item !== undefined && isToolText(item)) return item
  for (const [list] of line.matchAll(/\[[^[\]]*\]/g)) if (isToolText(list)) return list
  const text = withoutScopes(line)
  const value = text.includes(':') ? text.slice(text.lastIndexOf(':') + 1).trim() : ''
  if (!/^["'].*["']$/.test(value) && isToolText(value.replace(/^\W{0,3}\w?\s+/, ''))) return line.trim()
  return findDecision(line)
}

function findDecision(line: string): string | undefined {
  for (const [text, key] of line.matchAll(/([\w*?-]{1,40})["']?\s{0,9}:\W{0,3}(?:allow|ask|deny|true|false)\b/gi)) {
    if (key === '*' || isPlainToolName(key!)) return text
  }
  return /[\w*?-]{1,40}["']?\s{0,9}:\s{0,9}["']?(?:allow|ask|deny)["']?\s{0,9},?$/i.exec(line)?.[0]
}

/** Whether a text is nothing but tools' names. */
export function isToolText(text: string): boolean {
  const words = wordsOf(text)
  return words.length > 0 && words.every(isToolName) && (words.length > 1 || isPlainToolName(words[0]!))
}

function wordsOf(text: string): string[] {
  return withoutScopes(text)
    .split(/[\s,[\]"']+/)
    .filter((word) => /[\w*]/.test(word))
}

function withoutScopes(text: string): string {
  return text.replace(/\([^()]*\)/g, '')
}
