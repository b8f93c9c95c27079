import * as z from 'zod'

export type ParsedInput<Input> = { ok: true; input: Input } | { ok: false; problems: string[] }

const maxRepairs = 3

/**
 * Parses a call's arguments. What models get slightly wrong is accepted: `"20"` for 20, `"true"` for true, a JSON string
 * for an object or list, null or an empty text for a missing optional, `filePath` for `file_path`. Never changes `args`.
 */
export function parseInput<Input>(schema: z.ZodType<Input>, args: Record<string, unknown>): ParsedInput<Input> {
  let input: unknown = withKnownKeys(schema, args)
  for (let round = 0; ; round++) {
    const parsed = schema.safeParse(input)
    if (parsed.success) return { ok: true, input: parsed.data }
    const repaired = round < maxRepairs ? repair(input, parsed.error.issues) : undefined
    if (repaired === undefined) return { ok: false, problems: parsed.error.issues.map(problemOf) }
    input = repaired
  }
}

function problemOf(issue: z.core.$ZodIssue): string {
  return issue.path.length > 0 ? `${issue.path.join('.')}: ${issue.message}` : issue.message
}

/** What models call a parameter elsewhere. One that is not understood would be left out, and the call do something else. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  path: ['file_path'],
  filename: ['file_path'],
  filepath: ['file_path'],
  file_path: ['path'],
  directory: ['cwd', 'path'],
  dir: ['cwd', 'path'],
  folder: ['cwd', 'path'],
  workdir: ['cwd'],
  working_dir: ['cwd'],
  working_directory: ['cwd'],
}

function withKnownKeys(schema: z.ZodType, args: Record<string, unknown>): Record<string, unknown> {
  if (!(schema instanceof z.ZodObject)) return args
  const known = (key: string) => Object.hasOwn(schema.shape, key)
  const renamed = (key: string) => {
    if (known(key)) return key
    const snake = key
      .replace(/([a-z])([A-Z])/g, '$1_$2')
      .replaceAll('-', '_')
      .toLowerCase()
    const others = Object.hasOwn(otherNames, snake) ? otherNames[snake]! : []
    const meant = [snake, ...others].find(known)
    return meant !== undefined && !Object.hasOwn(args, meant) ? meant : key
  }
  const isNothing = (key: string, value: unknown) =>
    value === '' && known(key) && (schema.shape[key] as z.ZodType).safeParse(undefined).success
  const entries = Object.entries(args).map(([key, value]) => [renamed(key), value] as const)
  return Object.fromEntries(entries.filter(([key, value]) => !isNothing(key, value)))
}

/** A copy with every value of a wrong type replaced where its meaning is plain; `undefined` when there is none. */
function repair(input: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy: unknown = structuredClone(input)
  let changed = false
  for (const issue of issues) {
    if (issue.code === 'invalid_type' && issue.path.length > 0) changed = repairAt(copy, issue) || changed
  }
  return changed ? copy : undefined
}

function repairAt(root: unknown, { path, expected }: z.core.$ZodIssueInvalidType): boolean {
  const parent = path.slice(0, -1).reduce<unknown>(childOf, root)
  const key = path.at(-1)!
  const value = childOf(parent, key)
  if (typeof parent !== 'object' || parent === null || value === undefined) return false
  if (value === null) return Reflect.deleteProperty(parent, key)
  const better = converted(value, expected)
  return better !== undefined && Reflect.set(parent, key, better)
}

function childOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined
}

function converted(value: unknown, expected: string): unknown {
  if (expected === 'string') return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  switch (expected) {
    case 'number':
    case 'int':
      return /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
    case 'boolean':
      return /^(true|false)$/i.test(text) ? text.toLowerCase() === 'true' : undefined
    case 'array':
    case 'object':
    case 'record':
      return structured(text, expected)
    default:
      return undefined
  }
}

function structured(text: string, expected: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    return Array.isArray(value) === (expected === 'array') ? value : undefined
  } catch {
    return undefined // No JSON: the schema's own error tells the model what is expected.
  }
}
