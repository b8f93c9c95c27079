import { refuse, type Warning } from './definition-error.ts'
import { findKey, type KeyKind } from './frontmatter-keys.ts'
import { parseYaml } from './parse-yaml.ts'
import { type RawField, refuseAccessInProse, refuseHiddenAccess, splitKey } from './unclear-access.ts'

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
    const broken = splitKey(segments.at(-1)?.lines.at(-1) ?? '', text)
    if (broken !== undefined) refuse(`"${broken}" is broken by a line end.`, firstLine + index)
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
  const parsed = parsedSegment(segment)
  if (parsed) {
    const fields = toRawFields(parsed, segment.lines, segment.line)
    refuseHiddenAccess(fields, segment.lines, segment.line)
    return fields
  }
  refuseAccessInProse(segment.lines, segment.line)
  if (segment.kind === 'prose') return [{ key: segment.key, value: rawText(segment), line: segment.line }]
  warnings.push({ message: `"${segment.key}" is no valid YAML and was left out.`, line: segment.line })
  return []
}

/** `undefined`: no valid YAML. Throws for that in a key that must not be guessed at. */
function parsedSegment({ key, kind, lines, line }: Segment): Map<unknown, unknown> | undefined {
  try {
    const parsed = parseYaml(lines.join('\n'), line)
    return parsed instanceof Map ? parsed : undefined
  } catch (error) {
    if (kind === 'restricting' || key.toLowerCase() === 'name') throw error
    return undefined
  }
}

/** The keys of parsed frontmatter with the lines in which they stand. */
export function toRawFields(parsed: Map<unknown, unknown>, lines: string[], firstLine: number): RawField[] {
  const keys = lines.map((text) => /^["']?(.*?)["']?\s{0,9}:/.exec(text)?.[1])
  return [...parsed].map(([key, value]) => ({
    key: String(key),
    value,
    line: firstLine + Math.max(keys.indexOf(String(key)), 0),
  }))
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
