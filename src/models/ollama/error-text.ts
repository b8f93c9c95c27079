import { object, string } from '../untyped.ts'

/** Ollama's `{ error: text }`, OpenAI's `{ error: { message } }`, or the start of whatever else it is. */
export function errorText(body: string): string {
  try {
    const { error } = object(JSON.parse(body))
    const text = string(error) || string(object(error).message)
    if (text !== '') return text
  } catch {
    // No JSON: a proxy's page, most likely.
  }
  const plain = body
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return plain.slice(0, 300) || 'no explanation'
}
