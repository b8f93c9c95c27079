import { readFile } from 'node:fs/promises'
import { messageOf, RuntimeError } from '../../core/errors.ts'
import type { JsonSchema } from '../../core/model.ts'

/** The last answer as JSON text, or why it is not what was asked for. */
export type CheckedAnswer = { text: string } | { problem: string }

export type OutputSchema = { schema: JsonSchema; check(answer: string): CheckedAnswer }

/** Reads a JSON Schema. Throws `bad-schema` when the file cannot be read or used. */
export async function loadOutputSchema(file: string): Promise<OutputSchema> {
  const z = await import('zod')
  const schema = await readSchema(file)
  try {
    const validator = z.fromJSONSchema(schema)
    return { schema, check: (answer) => checkAnswer(answer, (value) => problemsOf(validator.safeParse(value))) }
  } catch (cause) {
    throw new RuntimeError('bad-schema', `${file} is no usable JSON Schema: ${messageOf(cause)}`, { cause })
  }
}

type Parsed = { success: boolean; error?: { issues: { path: PropertyKey[]; message: string }[] } }

function problemsOf({ error }: Parsed): string[] {
  return (error?.issues ?? []).map(
    ({ path, message }) => `${path.length > 0 ? path.join('.') : 'the whole'}: ${message}`,
  )
}

async function readSchema(file: string): Promise<JsonSchema> {
  const value = await parseFile(file)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonSchema
  throw new RuntimeError('bad-schema', `${file} is no JSON Schema: it must hold an object, such as {"type": "object"}`)
}

async function parseFile(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (cause) {
    throw new RuntimeError('bad-schema', `cannot read the JSON Schema ${file}: ${messageOf(cause)}`, { cause })
  }
}

function checkAnswer(answer: string, problems: (value: unknown) => string[]): CheckedAnswer {
  const text = unfenced(answer)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { problem: `it is not JSON (${messageOf(error)})` }
  }
  const found = problems(value)
  return found.length === 0 ? { text } : { problem: found.join('; ') }
}

/** Models like to wrap JSON in a Markdown fence. */
function unfenced(answer: string): string {
  const fence = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/i.exec(answer)
  return (fence?.[1] ?? answer).trim()
}
