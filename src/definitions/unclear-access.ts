import { refuse } from './definition-error.ts'
import { findMeantKey, isAccessKey } from './frontmatter-keys.ts'
import { toolsNamed } from './tool-names.ts'

/**
 * Throws where lines of prose seem to hold what should restrict the agent: a key at the start of a line, a key glued to
 * the text before it, or a tool with `deny` after it.
 */
export function refuseAccessInProse(lines: string[], firstLine: number): void {
  for (const [index, line] of lines.entries()) {
    const found = index > 0 ? accessInLine(line) : undefined
    const misplaced = found ?? gluedIn(line, index > 0 ? 0 : 1)
    if (misplaced !== undefined) refuseMisplaced(misplaced, firstLine + index)
  }
}

/** Throws where an unknown key was probably meant to restrict: its name is nearly one that does, or its value is tools. */
export function refuseUnknownKey(key: string, value: unknown, line: number): void {
  const meant = findMeantKey(key)
  if (meant) refuse(`"${key}" is no key. Did you mean ${meant}?`, line)
  if (isToolName(key) && isDecision(value)) refuse(`"${key}" belongs under permission: or tools:`, line)
  if (holdsTools(value)) refuse(`"${key}" is no key, and its value names tools. Did you mean tools?`, line)
  if (value instanceof Map)
    for (const inner of value.keys()) if (isAccessKey(String(inner))) refuseMisplaced(String(inner), line)
}

const keyOfLine = /^\s*(?:-\s+)?["']?([A-Za-z*][\w *?-]*?)["']?\s*:\s*(.*?)\s*,?$/
const action = /^["']?(allow|ask|deny)["']?$/i
const switchValue = /^["']?(true|false|on|off|yes|no)["']?$/i
const gluedKey =
  /((?:dis)?allow(?:ed)?[-_]?tools|tools|permissions?|permission[-_]?mode|disable[-_]?model[-_]?invocation)["']?\s*:\s*(.*)$/i

/** What in a line after the first looks as if it were meant to restrict. */
function accessInLine(line: string): string | undefined {
  const word = /^[A-Za-z][\w-]*/.exec(line)?.[0]
  if (word !== undefined && isAccessKey(word)) return word
  const [, key, value] = keyOfLine.exec(line) ?? []
  if (key === undefined || value === undefined) return undefined
  if (isAccessKey(key) || findMeantKey(key)) return key
  if (action.test(value) || (switchValue.test(value) && isToolName(key))) return line.trim()
  return isToolValue(value) && !/^\s/.test(line) ? line.trim() : undefined
}

/** A key that lost the line break before it: `Helps.tools: Read`. */
function gluedIn(line: string, from: number): string | undefined {
  const match = gluedKey.exec(line)
  if (!match || match.index < from) return undefined
  const isGlued = match.index > 0 && !/\s/.test(line[match.index - 1]!)
  const value = match[2]!
  const isAccess =
    /^["']?\*?["']?$|^[[{]/.test(value) || action.test(value) || switchValue.test(value) || isToolValue(value)
  return isAccess || (isGlued && /^\S*$/.test(value)) ? match[1] : undefined
}

function refuseMisplaced(text: string, line: number): never {
  return refuse(
    `"${text}" restricts the agent only as a key in the first column. Move it there, or quote the text around it.`,
    line,
  )
}

/** Text of nothing but tools' names: `Read, Grep`, `Bash(git *)`. */
function isToolValue(value: string): boolean {
  const names = value
    .replace(/\([^)]*\)/g, '')
    .split(/[\s,[\]"']+/)
    .filter((name) => name !== '')
  return names.length > 0 && names.every(isToolName)
}

const wordsToo = new Set(['task', 'agent', 'skill', 'list', 'question', 'patch', 'todo'])

/** `type: agent` is no list of tools: words of everyday language count only beside others. */
function holdsTools(value: unknown): boolean {
  if (typeof value === 'string') return isToolValue(value) && !wordsToo.has(value.trim().toLowerCase())
  if (Array.isArray(value))
    return value.length > 0 && value.every((item) => typeof item === 'string' && holdsTools(item))
  return value instanceof Map && [...value].some(([key, inner]) => isToolName(String(key)) && isDecision(inner))
}

function isToolName(text: string): boolean {
  return text !== '*' && toolsNamed(text).kind !== 'unknown'
}

function isDecision(value: unknown): boolean {
  if (value instanceof Map) return [...value.values()].some(isDecision)
  return typeof value === 'boolean' || (typeof value === 'string' && /^(allow|ask|deny)$/i.test(value))
}
