import type { YAMLError } from 'yaml'
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
    return document.toJS({ mapAsMap: true, maxAliasCount })
  } catch (error) {
    return refuse(`YAML: ${error instanceof Error ? error.message : String(error)}`, firstLine)
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
