import type { Field } from './parse-frontmatter.ts'

/** The name in the frontmatter, on one line, or that of the file. */
export function nameOf(fields: Map<string, Field>, fallback: string): string {
  const value = fields.get('name')?.value
  const single = Array.isArray(value) && value.length === 1 ? value[0] : value
  const isText = typeof single === 'string' || typeof single === 'number' || typeof single === 'boolean'
  return oneLine(isText ? String(single) : '') || fallback
}

/** The description in the frontmatter, or the body's first paragraph. */
export function descriptionOf(fields: Map<string, Field>, body: string): string {
  const value = fields.get('description')?.value ?? fields.get('whenToUse')?.value
  if (typeof value === 'string' && value.trim() !== '') return value.trim()
  if (Array.isArray(value)) return value.map(String).join(', ')
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : firstParagraph(body)
}

function firstParagraph(body: string): string {
  const paragraphs = body.split(/\n\s*\n/).map((text) => text.replace(/^#+ .*$/gm, '').trim())
  const found = paragraphs.find((text) => text !== '' && !/^[-*_\s]+$/.test(text))
  return oneLine(found ?? body.replace(/^#+ /gm, '')).slice(0, maxParagraph)
}

const maxParagraph = 500

function oneLine(text: string): string {
  return text.replace(/[\s\u0000-\u001F\u007F]+/g, ' ').trim()
}
