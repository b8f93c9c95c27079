import { type Document, LineCounter, parseDocument, type YAMLError } from 'yaml'

/** YAML read strictly: what is unknown or stands twice is a `problem`. */
export type StrictYaml = {
  document: Document
  problem: YAMLError | undefined
  /** Of an offset in the text, from 1. */
  lineAt(offset: number): number
}

/** An alias may multiply a text this often, no more. */
export const maxAliasCount = 50

/** Parses without throwing and without a word on the terminal. */
export function parseStrictYaml(text: string): StrictYaml {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, logLevel: 'silent', prettyErrors: false, stringKeys: true })
  const problem = document.errors[0] ?? document.warnings[0]
  return { document, problem, lineAt: (offset) => lineCounter.linePos(offset).line }
}
