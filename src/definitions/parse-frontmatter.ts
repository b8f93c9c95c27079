import matter from 'gray-matter'
import { DefinitionError, refuse, type Warning } from './definition-error.ts'
import { findKey, isAccessKey, type KeyKind } from './frontmatter-keys.ts'
import { parseYaml } from './parse-yaml.ts'
import { recoverFrontmatter, toRawFields } from './recover-frontmatter.ts'
import { type SplitText, splitFrontmatter } from './split-frontmatter.ts'
import { type RawField, refuseHiddenAccess, refuseUnknownKey } from './unclear-access.ts'

/** A key of a definition: `written` is the author's spelling. */
export type Field = { written: string; value: unknown; line: number }

/** A definition's keys by our names, and its body. */
export type Frontmatter = {
  /** False: the text has no frontmatter at all, or an empty one. */
  found: boolean
  fields: Map<string, Field>
  body: string
  warnings: Warning[]
}

/**
 * Parses a Markdown definition. Broken YAML is read as its author meant it where that is clear. Throws a
 * `DefinitionError` where anything that restricts the agent is not.
 */
export function parseFrontmatter(text: string): Frontmatter {
  const split = splitFrontmatter(text)
  if (split.yaml === undefined) return { found: false, fields: new Map(), body: split.body, warnings: [] }
  const { raw, body, warnings } = readFields(split.yaml, split)
  const fields = namedFields(raw)
  const second = secondBlock(body, split.bodyLine)
  if (!second) return { found: fields.size > 0, fields, body: trimBody(body), warnings }
  warnings.push({ message: 'There are two frontmatter blocks; the first one counts.', line: split.bodyLine })
  return { found: true, fields: withRestrictions(fields, second.fields), body: second.body, warnings }
}

function readFields(
  yaml: string,
  { yamlLine, body }: SplitText,
): { raw: RawField[]; body: string; warnings: Warning[] } {
  try {
    return { ...readStrictly(yaml, yamlLine, body), warnings: [] }
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    const recovered = recoverFrontmatter(yaml, yamlLine)
    if (recovered.fields.length === 0) throw error
    return { raw: recovered.fields, body, warnings: recovered.warnings }
  }
}

/** gray-matter keeps a cache by content in which a failed parse is `{}`; handing it options switches that off. */
function readStrictly(yaml: string, line: number, body: string): { raw: RawField[]; body: string } {
  const engines = { yaml: { parse: (text: string) => parseYaml(text, line - 1) as object } }
  const { data, content } = matter(`---\n${yaml}\n---\n${body}`, { language: 'yaml', engines })
  if (!(data instanceof Map) && Object.keys(data).length > 0) refuse('Frontmatter must be lines of "key: value".', line)
  if (typeof data !== 'object' || Array.isArray(data)) refuse('Frontmatter must be lines of "key: value".', line)
  const lines = yaml.split('\n')
  const raw = toRawFields(data instanceof Map ? data : new Map(), lines, line)
  refuseHiddenAccess(raw, lines, line)
  return { raw, body: content }
}

function namedFields(raw: RawField[]): Map<string, Field> {
  const fields = new Map<string, Field>()
  for (const { key: written, value, line } of raw) {
    const known = findKey(written)
    if (!known) refuseUnknownKey(written, value, line)
    else if (!fields.has(known.key)) fields.set(known.key, { written, value, line })
    else refuseTwice(known.kind, fields.get(known.key)!.written, written, line)
  }
  return fields
}

function refuseTwice(kind: KeyKind, first: string, second: string, line: number): void {
  if (kind === 'restricting') refuse(`"${first}" and "${second}" say the same thing twice. Keep one.`, line)
}

/** Another block right after the first, or what was its second half before a fence came too early. */
function secondBlock(body: string, line: number): { fields: Map<string, Field>; body: string } | undefined {
  if (!/^\s*---[ \t]*\n/.test(body)) return refuseEarlyFence(body, line)
  if (!looksLikeBlock(body)) return undefined
  const split = splitFrontmatter(body)
  const { raw, body: rest } = readFields(split.yaml ?? '', { ...split, yamlLine: line + split.yamlLine - 1 })
  return raw.some(({ key }) => findKey(key)) ? { fields: namedFields(raw), body: trimBody(rest) } : undefined
}

/** A rule at the start of a text is no fence: a block has a key of ours at once, and an end. */
function looksLikeBlock(body: string): boolean {
  const [, key] = /^\s*---[ \t]*\n["']?([A-Za-z][\w-]*)["']?\s*:[\s\S]*?\n---[ \t]*(?:\n|$)/.exec(body) ?? []
  return key !== undefined && findKey(key) !== undefined
}

function refuseEarlyFence(body: string, line: number): undefined {
  const head = body.split('\n')
  const fence = head.findIndex((text) => /^---\s*$/.test(text))
  const firstText = head.findIndex((text) => text.trim() !== '')
  const key = /^["']?([A-Za-z][\w-]*)["']?\s*:/.exec(head[firstText] ?? '')?.[1]
  if (fence > 0 && key !== undefined && isAccessKey(key))
    refuse(`"${key}" stands after the closing fence.`, line + firstText)
}

function withRestrictions(first: Map<string, Field>, second: Map<string, Field>): Map<string, Field> {
  if ([...first.keys()].some(isAccessKey)) return first
  return new Map([...first, ...[...second].filter(([key]) => isAccessKey(key))])
}

function trimBody(body: string): string {
  return body.replace(/^\n+/, '')
}
