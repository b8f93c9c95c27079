import { readFile, stat } from 'node:fs/promises'
import { type Document, isMap, isNode, isScalar } from 'yaml'
import type { z } from 'zod'
import { type Config, configSchema } from '../core/config.ts'
import { RuntimeError } from '../core/errors.ts'
import type { Action, Place } from '../core/permission.ts'
import { maxAliasCount, parseStrictYaml } from './strict-yaml.ts'

/** A configuration file as written, valid for `configSchema`. Keys that are not there have no default yet. */
export type RawConfig = z.input<typeof configSchema>

/** A rule as it stands in a file, in the order of the file. */
export type WrittenRule = { key: string; pattern: string; action: Action; place: Place }

/** `lineOf`: where a setting stands, by its keys from the outermost. */
export type ConfigFile = { path: string; raw: RawConfig; rules: WrittenRule[]; lineOf(keys: PropertyKey[]): number }

/** Reads a configuration file; `undefined` if there is none. Throws `bad-config` with path, line, field and reason. */
export async function readConfigFile(path: string): Promise<ConfigFile | undefined> {
  const text = await readText(path)
  if (text === undefined) return undefined
  const { document, problem, lineAt } = parseStrictYaml(text)
  if (problem) throw badConfig(path, lineAt(problem.pos[0]), problem.message)
  const raw: unknown = toValue(document, path) ?? {}
  const parsed = configSchema.safeParse(raw)
  const lineOf = (keys: PropertyKey[]) => lineAt(offsetOf(document, keys))
  if (!parsed.success) throw issueError(path, parsed.error.issues[0]!, lineOf)
  return { path, raw: raw as RawConfig, rules: writtenRules(document, path, lineOf), lineOf }
}

/** From maps that keep their order: an object puts patterns such as `1` first, and the last match wins. */
function writtenRules(document: Document, path: string, lineOf: ConfigFile['lineOf']): WrittenRule[] {
  const whole: unknown = document.toJS({ mapAsMap: true, maxAliasCount })
  const permission: unknown = whole instanceof Map ? whole.get('permission') : undefined
  if (!(permission instanceof Map)) return []
  return [...permission].flatMap(([name, value]) => {
    const entries = value instanceof Map ? [...value] : [['*', value]]
    return entries.map(([text, action]) => {
      const keys = ['permission', String(name), ...(value instanceof Map ? [String(text)] : [])]
      const place = { path, line: lineOf(keys) }
      return { key: String(name), pattern: patternOf(String(text), place), action: action as Action, place }
    })
  })
}

function patternOf(pattern: string, { path, line }: Required<Place>): string {
  if (pattern.trim() === '') throw badConfig(path, line, 'permission: a pattern is empty. For all of a key write "*".')
  if (!/[\0-\x08\x0b-\x1f\x7f]/.test(pattern)) return pattern
  throw badConfig(path, line, 'permission: a pattern holds a control character. Remove it.')
}

async function readText(path: string): Promise<string | undefined> {
  try {
    // A pipe of that name would be waited for, for ever.
    const kind = await stat(path)
    if (!kind.isFile() && !kind.isDirectory()) throw badConfig(path, 1, 'This is no regular file. Remove it.')
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof RuntimeError) throw error
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new RuntimeError('bad-config', `${path} can't be read (${code}). Make it a readable file, or remove it.`, {
      cause: error,
    })
  }
}

function toValue(document: Document, path: string): unknown {
  try {
    return document.toJS({ maxAliasCount })
  } catch (error) {
    throw badConfig(path, 1, error instanceof Error ? error.message : String(error))
  }
}

/**
 * A configuration given in code: `given` over what files say, key by key, with defaults for the rest. Throws `bad-config`
 * with field and reason.
 */
export function parseConfig(given: Partial<Config>, files: Config): Config {
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const parsed = configSchema.safeParse({ ...files, ...present })
  if (parsed.success) return parsed.data
  const { reason } = explainIssue(parsed.error.issues[0]!)
  throw new RuntimeError('bad-config', `The configuration given in code: ${reason}`)
}

function issueError(path: string, outer: z.core.$ZodIssue, lineOf: (keys: PropertyKey[]) => number): RuntimeError {
  const { at, reason } = explainIssue(outer)
  return badConfig(path, lineOf(at), reason)
}

function explainIssue(outer: z.core.$ZodIssue): { at: PropertyKey[]; reason: string } {
  const issue = deepest(outer)
  if (issue.code === 'unrecognized_keys') {
    const at = [...issue.path, issue.keys[0]!]
    return { at, reason: `"${at.join('.')}" is no setting. ${knownAt(issue.path)}` }
  }
  const field = issue.path.join('.')
  return { at: issue.path, reason: `${field ? `"${field}": ` : ''}${issue.message}.` }
}

/** Of several forms that a value may have, the one that fits farthest says best what is wrong. */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue
  const inner = issue.errors.flatMap((branch) => branch.slice(0, 1)).map(deepest)
  const best = inner.sort((a, b) => b.path.length - a.path.length)[0]
  return best ? { ...best, path: [...issue.path, ...best.path] } : issue
}

function knownAt(path: PropertyKey[]): string {
  const known = path.length === 0 ? Object.keys(configSchema.shape) : path[0] === 'limits' ? limitNames() : []
  return known.length > 0 ? `Known: ${known.join(', ')}.` : 'Remove it.'
}

function limitNames(): string[] {
  return Object.keys(configSchema.shape.limits.unwrap().shape)
}

/** Where a key stands in the file; of a path that does not lead on, the last part that is there. */
function offsetOf(document: Document, keys: PropertyKey[]): number {
  let node: unknown = document.contents
  let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0
  for (const key of keys) {
    if (!isMap(node)) return offset
    const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key)
    if (!pair) return offset
    if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset
    node = pair.value
  }
  return offset
}

function badConfig(path: string, line: number, reason: string): RuntimeError {
  return new RuntimeError('bad-config', `${path}:${line}: ${reason.split('\n')[0]}`)
}
