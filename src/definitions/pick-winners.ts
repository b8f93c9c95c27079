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

/** A file of definitions after the attempt to load it; `undefined`: it holds none. */
export type Attempt<T> = Candidate<T> | Diagnostic | undefined

/** Turns a refusal into the one diagnostic of its file. Anything else is our bug and goes on. */
export function attempt<T>(path: string, load: () => Candidate<T> | undefined): Attempt<T> {
  try {
    return load()
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    return { path, line: error.line, severity: 'error', message: error.message }
  }
}

/**
 * The first definition of each name, in order, and what is to be said: the reason of each file that was refused, the
 * winners' warnings, and one line for each name that people have given twice.
 */
export function pickWinners<T>(
  attempts: Attempt<T>[],
  what: string,
): { winners: Candidate<T>[]; diagnostics: Diagnostic[] } {
  const groups = new Map<string, Candidate<T>[]>()
  const diagnostics: Diagnostic[] = []
  for (const item of attempts) {
    if (!item) continue
    if ('severity' in item) diagnostics.push(item)
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

function warning(path: string, message: string, line?: number): Diagnostic {
  return { path, line, severity: 'warning', message }
}
