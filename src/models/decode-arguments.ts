import type { ModelCall } from '../core/model.ts'

/**
 * A call's arguments as servers send them: an object, its JSON, or JSON of its JSON. Nothing at all means none. What is
 * no object in any of these ways comes back as `invalid`, so that the call is never run with made-up arguments.
 */
export function decodeArguments(value: unknown): Pick<ModelCall, 'args' | 'invalid'> {
  if (value === undefined || value === null) return { args: {} }
  if (typeof value !== 'string') return isObject(value) ? { args: value } : { args: {}, invalid: JSON.stringify(value) }
  return decodeText(value)
}

function decodeText(text: string): Pick<ModelCall, 'args' | 'invalid'> {
  let value: unknown = text
  for (let layer = 0; layer < 3 && typeof value === 'string'; layer++) {
    if (value.trim() === '') return { args: {} }
    try {
      value = JSON.parse(value)
    } catch {
      return { args: {}, invalid: text }
    }
  }
  if (value === null) return { args: {} }
  return isObject(value) ? { args: value } : { args: {}, invalid: text }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
