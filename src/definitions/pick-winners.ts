import type { Diagnostic } from '../core/agent.ts'
import { DefinitionError, type Warning } from './definition-error.ts'

/** A definition that was read, and where it stands. */
export type Candidate<T> = {
  name: string
  value: T
  path: string
  kind: 'builtin' | 'user' | 'project'
  warnings: Warning[]
}

/** Why a file was refused, and the names that its author may have meant to give. */
export type Refusal = { diagnostic: Diagnostic; names: string[] }

/** A file of definitions after the attempt to load it; `undefined`: it holds none. */
export type Attempt<T> = Candidate<T> | Refusal | undefined

/** Turns a refusal into the one diagnostic of its file. Anything else is our bug and goes on. */
export function attempt<T>(
  path: string,
  load: () => Candidate<T> | undefined,
  namesIfRefused: () => string[] = () => [],
): Attempt<T> {
  try {
    return load()
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    const diagnostic: Diagnostic = { path, line: error.line, severity: 'error', message: error.message }
    return { diagnostic, names: namesIfRefused() }
  }
}

/**
 * The first definition of each name, in order; none where a file that was refused comes first, since what it hides may be
 * less restricted than it meant to be. Also and what is to be said: the reason of each file that was refused, the
 * winners' warnings, and one line for each name that people have given twice.
 */
export function pickWinners<T>(
  attempts: Attempt<T>[],
  what: string,
): { winners: Candidate<T>[]; diagnostics: Diagnostic[] } {
  const groups = new Map<string, Candidate<T>[]>()
  const refusals = new Map<string, Refusal>()
  const diagnostics: Diagnostic[] = []
  for (const item of attempts) {
    if (!item) continue
    if ('diagnostic' in item) {
      diagnostics.push(item.diagnostic)
      for (const name of item.names) if (!groups.has(name)) refusals.set(name, item)
      continue
    }
    const refusal = refusals.get(item.name)
    if (refusal) leaveOut(what, item, refusal)
    else groups.set(item.name, [...(groups.get(item.name) ?? []), item])
  }
  for (const [winner, ...others] of groups.values()) {
    if (!winner) continue
    diagnostics.push(...winner.warnings.map(({ message, line }) => warning(winner.path, message, line)))
    const hidden = others.filter(({ kind }) => kind !== 'builtin').map(({ path }) => path)
    if (hidden.length === 0) continue
    const message = `${what} "${winner.name}" is there more than once: ${winner.path} is used, not ${hidden.join(', ')}.`
    diagnostics.push(warning(hidden[0]!, message))
  }
  return { winners: [...groups.values()].map(([winner]) => winner!), diagnostics }
}

function leaveOut(what: string, { name, path, kind }: Candidate<unknown>, { diagnostic }: Refusal): void {
  const hidden = kind === 'builtin' ? `the built-in ${name}` : path
  diagnostic.message += ` Until then there is no ${what.toLowerCase()} "${name}": ${hidden} might be less restricted.`
}

function warning(path: string, message: string, line?: number): Diagnostic {
  return { path, line, severity: 'warning', message }
}
