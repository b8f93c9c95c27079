import { refuse } from './definition-error.ts'

/** One entry of a list of tools, as written: `Bash(git:*, ls)` is `{ name: 'Bash', scopes: ['git:*', 'ls'] }`. */
export type ToolEntry = { name: string; scopes: string[] }

/**
 * Reads a list of tools: an array, or text split on commas and blanks outside parentheses. Throws where it can't be told
 * what was meant.
 */
export function parseToolEntries(value: unknown, key: string, line?: number): ToolEntry[] {
  if (typeof value === 'string') return splitOutside(unbracketed(value), /[\s,]/, line).map((text) => entry(text, line))
  if (Array.isArray(value)) return value.flatMap((item) => itemEntries(item, key, line))
  return refuse(`"${key}" must be a list of tool names, such as: ${key}: [read, grep]`, line)
}

function itemEntries(item: unknown, key: string, line?: number): ToolEntry[] {
  if (typeof item !== 'string') refuse(`"${key}" must hold tool names only, not ${JSON.stringify(item)}.`, line)
  return splitOutside(item, /[\s,]/, line).map((text) => entry(text, line))
}

/** `'["Read", "Grep"]'`, a list inside a text. */
function unbracketed(text: string): string {
  const inner = /^\s*\[(.*)\]\s*$/s.exec(text)?.[1]
  return inner === undefined ? text : inner.replace(/["']/g, '')
}

function entry(text: string, line?: number): ToolEntry {
  const match = /^([^()\s]+)(?:\((.*)\))?$/s.exec(text)
  if (!match?.[1])
    return refuse(`"${text}" is no tool name. Write it as Bash(git *), without a blank before "(".`, line)
  if (/^(true|false|allow|ask|deny)$/i.test(match[1]) || match[1].includes(':')) {
    refuse(`"${text}" is no tool name. Write a list of names, or a map with one tool a line.`, line)
  }
  if (match[2] === undefined) return { name: match[1], scopes: [] }
  const scopes = splitOutside(match[2], /,/, line)
  if (scopes.length === 0) refuse(`"${text}" names nothing between its parentheses.`, line)
  return { name: match[1], scopes }
}

/** Splits at separators that stand outside parentheses; drops empty parts. */
function splitOutside(text: string, separator: RegExp, line?: number): string[] {
  const parts = ['']
  let depth = 0
  for (const char of text) {
    if (char === '(') depth++
    if (char === ')') depth--
    if (depth < 0) break
    if (depth === 0 && separator.test(char)) parts.push('')
    else parts[parts.length - 1] += char
  }
  if (depth !== 0) refuse(`The parentheses in "${text}" do not match.`, line)
  return parts.map((part) => part.trim()).filter((part) => part !== '')
}
