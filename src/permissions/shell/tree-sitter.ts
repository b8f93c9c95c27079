import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { Language, Parser, type ParseState } from 'web-tree-sitter'
import type { ParseShell } from './syntax.ts'

// A step is about 40 tokens; 10,000 characters take 500 at most. After an error each can take far longer.
const maxSteps = 600
const maxStepsWithError = 100
const maxParseMs = 120

/** The parser for shell commands. Takes about 100 ms and 15 MB, once per thread: import it when there is something to parse. */
export async function createShellParser(): Promise<ParseShell> {
  await Parser.init({ wasmBinary: await readWasm('web-tree-sitter/web-tree-sitter.wasm') })
  const language = await Language.load(await readWasm('tree-sitter-bash/tree-sitter-bash.wasm'))
  const parser = new Parser().setLanguage(language)
  return (source, use) => {
    const deadline = performance.now() + maxParseMs
    let steps = 0
    const isTooLong = ({ hasError }: ParseState) =>
      ++steps > (hasError ? maxStepsWithError : maxSteps) || performance.now() > deadline
    const tree = parser.parse(source, null, { progressCallback: isTooLong })
    if (tree === null) {
      parser.reset()
      return undefined
    }
    try {
      return use(tree.rootNode)
    } finally {
      tree.delete()
    }
  }
}

/** The build puts the files beside the program: then the packages that they come from are not needed. */
function readWasm(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const beside = new URL(path.slice(path.lastIndexOf('/') + 1), import.meta.url)
  return readFile(existsSync(beside) ? beside : createRequire(import.meta.url).resolve(path)) as Promise<
    Uint8Array<ArrayBuffer>
  >
}
