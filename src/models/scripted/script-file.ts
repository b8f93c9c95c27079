import { readFileSync, statSync } from 'node:fs'
import { isNode, LineCounter, type ParsedNode, parseDocument } from 'yaml'
import type { z } from 'zod'
import { RuntimeError } from '../../core/errors.ts'
import { type Script, scriptSchema } from './script-schema.ts'

/** Throws `bad-script` with path, line and field of what is wrong. */
export function parseScript(text: string, path: string): Script {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, merge: true })
  const [broken] = document.errors
  if (broken) throw badScript(path, lines.linePos(broken.pos[0]).line, broken.message.split('\n')[0] ?? 'broken YAML')
  const parsed = scriptSchema.safeParse(document.toJS() ?? {})
  if (parsed.success) return { ...parsed.data, path }
  const [issue, ...others] = parsed.error.issues
  if (!issue) throw badScript(path, 1, 'broken')
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  const offset = offsetOf(issue, (at) => document.getIn(at, true))
  throw badScript(path, lines.linePos(offset).line, `${fieldOf(issue.path)}: ${issue.message}${more}`)
}

const cache = new Map<string, { version: string; script: Script }>()

/** Reads a script; a file that has not changed is parsed once per thread. */
export function loadScript(path: string): Script {
  const version = versionOf(path)
  const known = cache.get(path)
  if (known?.version === version) return known.script
  const script = parseScript(readFileSync(path, 'utf8'), path)
  cache.set(path, { version, script })
  return script
}

function versionOf(path: string): string {
  try {
    const { mtimeMs, size } = statSync(path)
    return `${mtimeMs}/${size}`
  } catch (cause) {
    throw new RuntimeError('bad-script', `No script at ${path}. Give the path of a YAML file: --model scripted:FILE`, {
      cause,
    })
  }
}

function badScript(path: string, line: number, problem: string): RuntimeError {
  return new RuntimeError('bad-script', `${path}:${line}: ${problem}. See docs/scripted-models.md for the format.`)
}

function fieldOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'script'
  return path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index > 0 ? '.' : ''}${String(key)}`))
    .join('')
}

/** Where in the text an issue lies: its node, or the nearest node around it that exists. */
function offsetOf(issue: z.core.$ZodIssue, find: (path: unknown[]) => unknown): number {
  const path: unknown[] = [...issue.path]
  if (issue.code === 'unrecognized_keys') path.push(issue.keys[0])
  for (let depth = path.length; depth >= 0; depth--) {
    const node = find(path.slice(0, depth))
    if (isNode(node) && node.range) return (node as ParsedNode).range[0]
  }
  return 0
}
