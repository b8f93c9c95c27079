import { refuse } from './definition-error.ts'
import { findMeantKey, isAccessKey } from './frontmatter-keys.ts'
import { isNear } from './near.ts'
import {
  findToolChoice,
  holdsTools,
  isAction,
  isDecision,
  isNearToolName,
  isPlainToolName,
  isToolName,
  isToolText,
  namesTool,
} from './tool-evidence.ts'

/** A top-level key as written, with its value and line. */
export type RawField = { key: string; value: unknown; line: number }

/**
 * Throws where the text of a key, given as its lines, seems to hold what should restrict the agent: a key at the start
 * of a line or glued to the text before it, a choice of tools, or a tool with `deny` after it.
 */
export function refuseAccessInProse(lines: string[], firstLine: number): void {
  for (const [index, line] of lines.entries()) {
    const text = index === 0 ? line.replace(/^[^:]*:/, '') : line
    const before = lines[index - 1]
    const atStart = before === undefined ? undefined : (keyAtStart(line) ?? splitKey(before, line))
    const found = atStart ?? gluedKey(text) ?? bareChoice(text, before) ?? findToolChoice(text)
    if (found !== undefined) refuseMisplaced(found, firstLine + index)
  }
}

/** Throws where an unknown key was probably meant to restrict: its name is nearly one that does, or its value is about tools. */
export function refuseUnknownKey(key: string, value: unknown, line: number): void {
  const meant = findMeantKey(key)
  if (meant) refuse(`"${key}" is no key. Did you mean ${meant}?`, line)
  const words = key.split(/[\s_-]+/)
  const isSwitched =
    isDecision(value) && [...words, words.join('')].some((word) => isToolName(word) || isNearToolName(word))
  const isAboutTool = isPlainToolName(words.at(-1)!) || isSwitched
  if (isAction(value) || isAboutTool) refuse(`"${key}" is no key here. Put it under permission: or tools:`, line)
  if (holdsTools(value)) refuse(`"${key}" is no key, and its value names tools. Did you mean tools?`, line)
  const inner = value instanceof Map ? [...value.keys()].map(String).find(isAccessKey) : undefined
  if (inner !== undefined) refuseMisplaced(inner, line)
}

/** Throws where a text among valid keys has swallowed a key: one over several lines, or a plain one that lost a line break. */
export function refuseHiddenAccess(fields: RawField[], lines: string[], firstLine: number): void {
  for (const [index, { key, value, line }] of fields.entries()) {
    if (typeof value !== 'string' || isAccessKey(key)) continue
    const until = fields[index + 1]?.line ?? firstLine + lines.length
    const own = lines.slice(line - firstLine, until - firstLine)
    if (own.length > 1 || /^[^:]*:\s*[^"'\s]/.test(own[0] ?? '')) refuseAccessInProse(own, line)
  }
}

const accessKey =
  /((?:dis)?allow(?:ed)?[-_]?tools|tools|permissions?|permission[-_]?mode|disable[-_]?model[-_]?invocation)["']?\s*:\s*(.*)$/i
const switchValue = /^["']?(true|false|on|off|yes|no)["']?$/i

function keyAtStart(line: string): string | undefined {
  const word = /^[A-Za-z][\w-]*/.exec(line)?.[0]
  if (word !== undefined && (isAccessKey(word) || (isAccessKey(findMeantKey(word) ?? '') && namesTool(line))))
    return word
  const colon = line.slice(0, 60).indexOf(':')
  if (colon < 0) return undefined
  const key = line.slice(0, colon).replace(/[^\w*?-]/g, '')
  const isRule = isPlainToolName(key) && /^\s*\S{0,12}\s*$/.test(line.slice(colon + 1))
  return isRule || isAccessKey(key) || findMeantKey(key) ? key : undefined
}

/** Tools at the end of a line, after a key that lost its colon or in the line below one. */
function bareChoice(text: string, before: string | undefined): string | undefined {
  const words = text.slice(0, 400).trim().split(/\s+/)
  const last = words.findLastIndex((word) => !isToolText(word))
  if (last === words.length - 1) return undefined
  const isValue = last < 0 || (last === 0 && words[0]!.length === 1)
  if (isValue && /[:[{,]\s*$/.test(before ?? '')) return text.trim()
  const key = words[Math.max(last, 0)]!.replace(/^.*\W(?=\w)|\W+$/g, '')
  const whole = words
    .slice(0, last + 1)
    .join('')
    .slice(0, 60)
  const isKey = [key, whole].some((text) => isAccessKey(text) || isAccessKey(findMeantKey(text) ?? ''))
  return isKey || isNear(key, 'tools', 2) ? key : undefined
}

/** A key that a line end has broken in two, such as `dis` and `allowedTools:`. */
export function splitKey(before: string, line: string): string | undefined {
  const end = /^[\w-]+$/.exec(before.trim())?.[0]
  const key = /^["']?([A-Za-z][\w-]*)["']?\s{0,9}:/.exec(line)?.[1]
  if (end === undefined || key === undefined) return undefined
  return isAccessKey(end + key) || isAccessKey(findMeantKey(end + key) ?? '') ? end + key : undefined
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
