/**
 * An expected failure: `code` is for callers that branch, `message` for its reader (the model or the operator) and says
 * what to do next. Anything else that is thrown is our bug.
 */
export class RuntimeError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'RuntimeError'
    this.code = code
  }
}

/** An error as plain data: what crosses a thread, enters a journal or leaves as an event. */
export type ErrorData = {
  code: string
  message: string
  name?: string
  stack?: string
  /** Own fields that can be cloned, such as `retryable`. */
  fields?: Record<string, unknown>
  cause?: ErrorData
}

/** Causes can go round in a circle. */
const maxCauses = 8

/** Never throws, whatever was thrown: functions and cycles among the fields are left out. */
export function toErrorData(thrown: unknown, depth = 0): ErrorData {
  if (!(thrown instanceof Error)) return { code: 'internal', message: describe(thrown) }
  const data: ErrorData = { code: codeOf(thrown), message: thrown.message, name: thrown.name, stack: thrown.stack }
  const fields = cloneableFields(thrown)
  if (Object.keys(fields).length > 0) data.fields = fields
  if (thrown.cause !== undefined && depth < maxCauses) data.cause = toErrorData(thrown.cause, depth + 1)
  return data
}

/** The error again, with its name, code, fields, cause and the stack of where it was thrown. */
export function fromErrorData(data: ErrorData): Error {
  const cause = data.cause === undefined ? undefined : fromErrorData(data.cause)
  const error = new RuntimeError(data.code, data.message, cause === undefined ? undefined : { cause })
  if (data.name !== undefined) error.name = data.name
  if (data.stack !== undefined) error.stack = data.stack
  return Object.assign(error, data.fields)
}

/** True for what an aborted signal rejects with. */
export function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown.name === 'AbortError' || ('code' in thrown && thrown.code === 'cancelled'))
}

/** One line for a person: the message, and the causes that say something new. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : describe(thrown)
}

/** For the end of a `switch`: the compiler lists what a new member of the union needs. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : 'internal'
}

const standardFields = new Set(['name', 'message', 'stack', 'cause', 'code'])

function cloneableFields(error: Error): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(error)) {
    if (standardFields.has(key)) continue
    try {
      fields[key] = JSON.parse(JSON.stringify(value))
    } catch {
      // A function, a cycle, a BigInt: the error still arrives, without that field.
    }
  }
  return fields
}

function describe(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  try {
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return String(thrown)
  }
}
