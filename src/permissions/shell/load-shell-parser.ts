import type { ParseShell } from './syntax.ts'

let loading: Promise<void> | undefined
let parse: ParseShell | undefined

/**
 * Must have resolved in this thread before commands are judged; loads at the first call only. Never rejects: without the
 * parser no command is understood, so each is asked.
 */
export function loadShellParser(): Promise<void> {
  loading ??= load()
  return loading
}

/** The parser; undefined until it is loaded. */
export function loadedParser(): ParseShell | undefined {
  return parse
}

async function load(): Promise<void> {
  try {
    const { createShellParser } = await import('./tree-sitter.ts')
    parse = await createShellParser()
  } catch (error) {
    // Not silent for the person: every command asks, and the reason names this.
    process.emitWarning(
      `Commands cannot be parsed, so each is asked: ${error instanceof Error ? error.message : error}`,
    )
  }
}
