import { refuse } from './definition-error.ts'
import { findMeantKey, isAccessKey } from './frontmatter-keys.ts'
import {
  findToolChoice,
  holdsTools,
  isAction,
  isDecision,
  isPlainToolName,
  isToolName,
  namesTool,
} from './tool-evidence.ts'

/**
 * Throws where the text of a key, given as its lines, seems to hold what should restrict the agent: a key at the start
 * of a line or glued to the text before it, a choice of tools, or a tool with `deny` after it.
 */
export function refuseAccessInProse(lines: string[], firstLine: number): void {
  for (const [index, line] of lines.entries()) {
    const text = index === 0 ? line.replace(/^[^:]*:/, '') : line
    const found = (index > 0 ? keyAtStart(line) : undefined) ?? gluedKey(text) ?? findToolChoice(text)
    if (found !== undefined) refuseMisplaced(found, firstLine + index)
  }
}

/** Throws where an unknown key was probably meant to restrict: its name is nearly one that does, or its value is about tools. */
export function refuseUnknownKey(key: string, value: unknown, line: number): void {
  const meant = findMeantKey(key)
  if (meant) refuse(`"${key}" is no key. Did you mean ${meant}?`, line)
  const words = key.split(/[\s_-]+/)
  const isAboutTool = isToolName(words.at(-1)!) || (words.some(isToolName) && isDecision(value))
  if (isAction(value) || isAboutTool) refuse(`"${key}" is no key here. Put it under permission: or tools:`, line)
  if (holdsTools(value)) refuse(`"${key}" is no key, and its value names tools. Did you mean tools?`, line)
  const inner = value instanceof Map ? [...value.keys()].map(String).find(isAccessKey) : undefined
  if (inner !== undefined) refuseMisplaced(inner, line)
}

const accessKey =
  /((?:dis)?allow(?:ed)?[-_]?tools|tools|permissions?|permission[-_]?mode|disable[-_]?model[-_]?invocation)["']?\s*:\s*(.*)$/i
const switchValue = /^["']?(true|false|on|off|yes|no)["']?$/i

function keyAtStart(line: string): string | undefined {
  const word = /^[A-Za-z][\w-]*/.exec(line)?.[0]
  if (word !== undefined && (isAccessKey(word) || (isAccessKey(findMeantKey(word) ?? '') && namesTool(line))))
    return word
  const [, key, value] = /^\s*(?:-\s+)?["']?([A-Za-z*][\w *?-]*?)["']?\s*:\s*(.*)$/.exec(line) ?? []
  if (key === undefined) return undefined
  const isRule = isPlainToolName(key) && /^\S{0,12}\s*$/.test(value!)
  return isRule || isAccessKey(key) || findMeantKey(key) ? key : undefined
}

/** A key that lost the line break before it: `Helps.tools: Read`. */
function gluedKey(text: string): string | undefined {
  const match = accessKey.exec(text)
  if (!match) return undefined
  const [, key, value] = match as unknown as [string, string, string]
  const isGlued = /\S/.test(text[match.index - 1] ?? ' ')
  const isShaped = /^["']?\*?["']?$|^[[{]/.test(value) || isAction(value) || switchValue.test(value)
  return isShaped || (isGlued && (/^\S*$/.test(value) || namesTool(value))) ? key : undefined
}

function refuseMisplaced(text: string, line: number): never {
  return refuse(
    `"${text}" restricts the agent only as a key in the first column. Move it there, or quote the text around it.`,
    line,
  )
}
