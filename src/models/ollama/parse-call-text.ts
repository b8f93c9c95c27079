import type { ModelCall } from '../../core/model.ts'
import { decodeArguments } from '../decode-arguments.ts'

/** Keys of a call; a JSON object with others is an answer, not a call. */
const callKeys = new Set(['name', 'arguments', 'parameters', 'id', 'type', 'function'])

/** What models are taught to write before a call; servers miss it where their template for the model is another. */
const marks = [
  '<tool_call>',
  '<tools>',
  '<function_call>',
  '<function=',
  '<|python_tag|>',
  '<|tool_call|>',
  '[TOOL_CALLS]',
]
const between = /^([\s,;]|<\/?(tool_call|tools|function_call)>|<\|(python_tag|tool_call)\|>|\[TOOL_CALLS\])+/

/** Whether a text that begins so may be calls. */
export function beginsCall(begun: string): 'yes' | 'no' | 'unsure' {
  if (/^[{[]/.test(begun) || marks.some((mark) => begun.startsWith(mark))) return 'yes'
  return marks.some((mark) => mark.startsWith(begun)) ? 'unsure' : 'no'
}

/**
 * The calls that a model wrote into its text, as small ones do: JSON alone, one object after the other, in a list, in code
 * fences or in tags such as `<tool_call>`, or as `<function=name>`. Undefined if the text is anything else, or names a tool
 * that was not offered.
 */
export function parseCallText(text: string, offered: readonly string[]): ModelCall[] | undefined {
  const values = splitValues(withoutFences(text.trim()))
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

/** No text within JSON holds a line break, so no line of it is a fence. */
function withoutFences(text: string): string {
  return text.startsWith('```') ? text.replace(/^[ \t]*```\w*[ \t]*\r?$|```$/gm, '').trim() : text
}

/** Values one after the other; undefined if there is anything between them but blanks, commas and tags. */
function splitValues(text: string): unknown[] | undefined {
  const isMarked = marks.some((mark) => text.startsWith(mark))
  const values: unknown[] = []
  for (let rest = text; ; ) {
    rest = rest.replace(isMarked ? between : /^[\s,;]+/, '')
    if (rest === '') return values
    const [value, length] = (isMarked && firstFunction(rest)) || firstJson(rest)
    if (value === undefined) return undefined
    values.push(value)
    rest = rest.slice(length)
  }
}

type Found = [value: unknown, length: number]
const nothing: Found = [undefined, 0]

const functionTag = /^<function=([^>\s]+)>\s*([\s\S]*?)\s*<\/function>/
const parameterTag = /^<parameter=([^>\s]+)>\n?([\s\S]*?)\n?<\/parameter>\s*(?=<parameter=|$)/

/** A call as Llama and Qwen-Coder write it: JSON within the tag, or a tag for each parameter. */
function firstFunction(text: string): Found | undefined {
  const [whole, name, body] = functionTag.exec(text) ?? []
  if (whole === undefined) return undefined
  const args = body!.startsWith('<') ? parametersOf(body!) : body
  return args === undefined ? nothing : [{ name, arguments: args }, whole.length]
}

function parametersOf(text: string): Record<string, string> | undefined {
  const values: [string, string][] = []
  for (let rest = text; rest !== ''; ) {
    const [whole, name, value] = parameterTag.exec(rest) ?? []
    if (whole === undefined) return undefined
    values.push([name!, value!])
    rest = rest.slice(whole.length)
  }
  return Object.fromEntries(values)
}

function firstJson(text: string): Found {
  const end = endOfValue(text)
  if (end === undefined) return nothing
  try {
    return [JSON.parse(text.slice(0, end)), end]
  } catch {
    return nothing // Not JSON after all: the text is an answer.
  }
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
