import { LineCounter, parseDocument, type YAMLError } from 'yaml'
import { refuse } from './definition-error.ts'

/**
 * Parses YAML strictly: an unknown tag, an alias to nothing or a key that stands twice throws a `DefinitionError` whose
 * line counts from `firstLine`. Maps come as `Map`, so that the order of patterns such as `"1"` and `"*"` is kept.
 */
export function parseYaml(text: string, firstLine = 1): unknown {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    logLevel: 'silent',
    prettyErrors: false,
    stringKeys: true,
  })
  const problem = document.errors[0] ?? document.warnings[0]
  if (problem) refuse(reasonOf(problem), firstLine + lines.linePos(problem.pos[0]).line - 1)
  try {
    return document.toJS({ mapAsMap: true, maxAliasCount: 50 })
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
