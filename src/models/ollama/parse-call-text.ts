import type { ModelCall } from '../../core/model.ts'
import { decodeArguments } from '../decode-arguments.ts'

/** Keys of a call; a JSON object with others is an answer, not a call. */
const callKeys = new Set(['name', 'arguments', 'parameters', 'id', 'type', 'function'])

/**
 * The calls that a model wrote into its text, as small ones do: JSON alone, one object after the other, in a list, in a
 * code fence or in `<tool_call>` tags. Undefined if the text is anything else, or names a tool that was not offered.
 */
export function parseCallText(text: string, offered: readonly string[]): ModelCall[] | undefined {
  const values = splitJson(withoutWrapping(text))
  if (!values || values.length === 0) return undefined
  const calls = values.flat().map((value) => toCall(value, offered))
  return calls.every((call) => call !== undefined) && calls.length > 0 ? calls : undefined
}

function toCall(value: unknown, offered: readonly string[]): ModelCall | undefined {
  if (!isObject(value) || !Object.keys(value).every((key) => callKeys.has(key))) return undefined
  if (isObject(value.function)) return toCall(value.function, offered)
  const sent = 'arguments' in value ? value.arguments : value.parameters
  if (typeof value.name !== 'string' || sent === undefined || !offered.includes(value.name)) return undefined
  return { tool: value.name, ...decodeArguments(sent) }
}

function withoutWrapping(text: string): string {
  const trimmed = text.trim()
  if (trimmed.startsWith('<tool_call>')) return trimmed.replace(/<\/?tool_call>/g, '\n')
  const fenced = /^```[a-z_]*\n([\s\S]*?)\n?```$/.exec(trimmed)
  return fenced?.[1] ?? trimmed
}

/** JSON values one after the other; undefined if there is anything between them but blanks and commas. */
function splitJson(text: string): unknown[] | undefined {
  const values: unknown[] = []
  let rest = text.trim()
  while (rest !== '') {
    const end = endOfValue(rest)
    if (end === undefined) return undefined
    try {
      values.push(JSON.parse(rest.slice(0, end)))
    } catch {
      // Not JSON after all: the text is an answer.
      return undefined
    }
    rest = rest.slice(end).replace(/^[\s,;]+/, '')
  }
  return values
}

/** Where the object or list at the start of a text ends. */
function endOfValue(text: string): number | undefined {
  if (text[0] !== '{' && text[0] !== '[') return undefined
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (inString) {
      if (char === '\\') at++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth === 0) return at + 1
  }
  return undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
