import { refuse, type Warning } from './definition-error.ts'
import { findKey, type KeyKind } from './frontmatter-keys.ts'
import { parseYaml } from './parse-yaml.ts'
import { refuseAccessInProse } from './unclear-access.ts'

/** A top-level key as written, with its value and line. */
export type RawField = { key: string; value: unknown; line: number }

type Segment = { key: string; kind: KeyKind; lines: string[]; line: number }

/**
 * Reads frontmatter that is no valid YAML as its author meant it: split at known keys in the first column, each segment
 * parsed by itself, and raw text taken for prose. Throws when a segment that is no prose stays unclear.
 */
export function recoverFrontmatter(yaml: string, firstLine: number): { fields: RawField[]; warnings: Warning[] } {
  const warnings: Warning[] = []
  const fields = segmentsOf(yaml, firstLine).flatMap((segment) => fieldsOf(segment, warnings))
  return { fields, warnings }
}

function segmentsOf(yaml: string, firstLine: number): Segment[] {
  const segments: Segment[] = []
  for (const [index, text] of yaml.split('\n').entries()) {
    const segment = segmentAt(text, firstLine + index)
    if (segment) segments.push(segment)
    else if (segments.length > 0) segments.at(-1)!.lines.push(text)
    else if (!/^\s*(#.*)?$/.test(text))
      refuse(`Frontmatter must begin with a key in the first column, not "${text.trim()}".`, firstLine + index)
  }
  return segments
}

function segmentAt(text: string, line: number): Segment | undefined {
  const match = /^(["']?)([A-Za-z][\w-]*)\1[ \t]*:(.?)/.exec(text)
  const known = match && findKey(match[2]!)
  if (!match || !known) return undefined
  if (/\S/.test(match[3]!) && known.kind !== 'prose') refuse(`A blank is missing after "${match[2]}:".`, line)
  return { key: match[2]!, kind: known.kind, lines: [text], line }
}

function fieldsOf(segment: Segment, warnings: Warning[]): RawField[] {
  try {
    const parsed = parseYaml(segment.lines.join('\n'), segment.line)
    if (parsed instanceof Map)
      return [...parsed].map(([key, value]) => ({ key: String(key), value, line: segment.line }))
  } catch (error) {
    if (segment.kind === 'restricting' || segment.key.toLowerCase() === 'name') throw error
  }
  refuseAccessInProse(segment.lines, segment.line)
  if (segment.kind === 'prose') return [{ key: segment.key, value: rawText(segment), line: segment.line }]
  warnings.push({ message: `"${segment.key}" is no valid YAML and was left out.`, line: segment.line })
  return []
}

/** The text after the key, without a block's sign or quotes around the whole. */
function rawText({ lines }: Segment): string {
  const text = lines
    .join('\n')
    .replace(/^[^:]*:/, '')
    .trim()
  const inner = text.replace(/^[|>][+-]?\s*\n/, '').trim()
  return /^(["'])(.*)\1$/s.exec(inner)?.[2] ?? inner
}
