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
  if (broken) throw badScript(path, lines.linePos(broken.pos[0]).line, yamlProblem(broken))
  const parsed = scriptSchema.safeParse(document.toJS() ?? {})
  if (parsed.success) return { ...parsed.data, path }
  const [issue, ...others] = parsed.error.issues
  if (!issue) throw badScript(path, 1, 'broken')
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  const offset = offsetOf(issue, (at) => document.getIn(at, true))
  throw badScript(path, lines.linePos(offset).line, `${fieldOf(issue.path)}: ${problemOf(issue)}${more}`)
}

/** The parser ends its message with the place and shows the line below it. */
function yamlProblem({ message }: Error): string {
  return message.replace(/ at line \d+, column \d+:.*/s, '')
}

const cache = new Map<string, { version: string; script: Script }>()

/** Reads a script; a file that has not changed is parsed once per thread. */
export function loadScript(path: string): Script {
  const version = versionOf(path)
  const known = cache.get(path)
  if (known?.version === version) return known.script
  const script = parseScript(readScript(path), path)
  cache.set(path, { version, script })
  return script
}

function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  // A pipe could be read by one thread only, and once.
  if (!stat?.isFile()) throw unreadable(`${stat ? 'No file' : 'No script'} at ${path}.`)
  return `${stat.mtimeMs}/${stat.size}`
}

function readScript(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw unreadable(`The script ${path} may not be read.`, cause)
  }
}

function unreadable(problem: string, cause?: unknown): RuntimeError {
  return new RuntimeError('bad-script', `${problem} Give the path of a YAML file: --model scripted:FILE`, { cause })
}

function badScript(path: string, line: number, problem: string): RuntimeError {
  return new RuntimeError('bad-script', `${path}:${line}: ${problem}. See docs/scripted-models.md for the format.`)
}

function problemOf({ message }: z.core.$ZodIssue): string {
  return message.replace(/^Invalid input: expected (.*), received undefined$/, 'is missing; it must be of type $1')
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
