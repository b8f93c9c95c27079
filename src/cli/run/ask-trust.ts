import { createInterface } from 'node:readline/promises'
import type { TrustState } from '../../index.ts'
import { type Io, isInteractive } from '../io.ts'
import type { Library } from '../load-library.ts'
import { oneLine } from '../terminal/sanitize.ts'

/**
 * Asks a person once whether a folder's own settings may count, and keeps the answer. Without a terminal, or where there
 * is nothing to decide, it does nothing.
 */
export async function askTrust(io: Io, dir: string, library: Library): Promise<void> {
  if (!isInteractive(io)) return
  const { worktree, ...state } = await library.examineTrust(dir)
  const decides = state.parts.some(({ kind }) => kind !== 'script')
  if (state.trusted || state.refused || !decides) return
  io.stderr.write(`${trustLines(worktree, state).join('\n')}\n`)
  const answer = await ask(io)
  if (answer === true) await library.trustFolder(dir)
  if (answer === false) await library.refuseFolder(dir)
}

/** What a folder brings, by file; only what changed, when it was trusted before. */
export function trustLines(worktree: string, { parts, changed }: Pick<TrustState, 'parts' | 'changed'>): string[] {
  const shown = changed.length === 0 ? parts : parts.filter(({ path }) => changed.includes(path))
  const head =
    changed.length === 0
      ? `${oneLine(worktree)} brings settings of its own, which count only if you trust them:`
      : `Since you trusted ${oneLine(worktree)}, this has changed:`
  return [
    head,
    ...shown.flatMap(({ path, lines }) => [`  ${oneLine(path)}`, ...lines.map((line) => `    ${oneLine(line)}`)]),
  ]
}

/** `undefined`: no answer was given. */
async function ask({ stdin, stderr }: Io): Promise<boolean | undefined> {
  const keys = createInterface({ input: stdin, output: stderr })
  const closed = new AbortController()
  keys.once('close', () => closed.abort())
  try {
    for (;;) {
      const typed = await keys.question('Trust it from now on? y/n > ', { signal: closed.signal })
      if (/^y(es)?$/i.test(typed.trim())) return true
      if (/^no?$/i.test(typed.trim())) return false
    }
  } catch {
    return undefined // Ctrl-C or Ctrl-D: it is asked again the next time.
  } finally {
    keys.close()
  }
}
