import { isMap, isScalar, type YAMLError } from 'yaml'
import { refuse } from './definition-error.ts'
import { maxAliasCount, parseStrictYaml } from './strict-yaml.ts'

/**
 * Parses YAML strictly: an unknown tag, an alias to nothing or a key that stands twice throws a `DefinitionError` whose
 * line counts from `firstLine`. Maps come as `Map`, so that the order of patterns such as `"1"` and `"*"` is kept.
 */
export function parseYaml(text: string, firstLine = 1): unknown {
  const { document, problem, lineAt } = parseStrictYaml(text)
  if (problem) refuse(reasonOf(problem), firstLine + lineAt(problem.pos[0]) - 1)
  try {
    const value: unknown = document.toJS({ mapAsMap: true, maxAliasCount })
    noteLines(document.contents, value, (offset) => firstLine + lineAt(offset) - 1)
    return value
  } catch (error) {
    return refuse(`YAML: ${error instanceof Error ? error.message : String(error)}`, firstLine)
  }
}

/** Lines of keys, by the map that they were read into. */
const keyLines = new WeakMap<object, Map<unknown, number>>()

/** The line of a key of a map that `parseYaml` has made; `undefined` for any other. */
export function lineOfKey(map: Map<unknown, unknown>, key: unknown): number | undefined {
  return keyLines.get(map)?.get(key)
}

function noteLines(node: unknown, value: unknown, lineAt: (offset: number) => number): void {
  if (!isMap(node) || !(value instanceof Map)) return
  const known = new Map<unknown, number>()
  keyLines.set(value, known)
  for (const { key, value: inner } of node.items) {
    if (!isScalar(key)) continue
    if (key.range) known.set(key.value, lineAt(key.range[0]))
    noteLines(inner, value.get(key.value), lineAt)
  }
}

function reasonOf(problem: YAMLError): string {
  return `YAML: ${problem.message.split('\n')[0]!.replace(/:?\s*$/, '')}`
}

/** The same value with objects in place of `Map`s. */
export function toPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlain)
  if (!(value instanceof Map)) return value
  return Object.fromEntries([...value].map(([key, inner]) => [String(key), toPlain(inner)]))
}
