/** JSON of the parts of requests that come again with every turn of a session. */
const texts = new WeakMap<object, string>()

/**
 * A request as JSON. The conversation grows at its end: of its messages and tools, objects that came before are not turned
 * into text again. They must not change between two requests.
 */
export function requestText(request: Record<string, unknown>): string {
  const { messages, tools, ...rest } = request
  const parts = [JSON.stringify(rest).slice(1, -1)]
  if (Array.isArray(messages)) parts.push(`"messages":[${messages.map(textOf).join(',')}]`)
  if (typeof tools === 'object' && tools !== null) parts.push(`"tools":${textOf(tools)}`)
  return `{${parts.filter((part) => part !== '').join(',')}}`
}

function textOf(part: object): string {
  const known = texts.get(part)
  if (known !== undefined) return known
  const text = JSON.stringify(part)
  texts.set(part, text)
  return text
}
