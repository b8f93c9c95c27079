import type { RunStatus } from '../core/events.ts'

/** The exit codes of the command line; scripts and CI rely on them. */
export const exitCodes = { done: 0, failed: 1, usage: 2, limit: 3, denied: 4, interrupted: 130 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Failures that the caller repairs by another argument, file or server: nothing has run. */
const usageCodes = new Set([
  'bad-agent',
  'bad-config',
  'bad-definition',
  'bad-dir',
  'bad-model',
  'bad-schema',
  'bad-script',
  'bad-server-address',
  'bad-session-id',
  'bad-usage',
  'cannot-listen',
  'journal-damaged',
  'journal-newer',
  'model-not-found',
  'model-refused',
  'model-unreachable',
  'no-data-dir',
  'not-a-root',
  'port-in-use',
  'session-busy',
  'session-locked',
  'unknown-agent',
  'unknown-job',
  'unknown-session',
])

/** Of a failure with one of `RuntimeError`'s codes; anything else is 1. */
export function exitCodeOfError(thrown: unknown): ExitCode {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  return typeof code === 'string' && usageCodes.has(code) ? exitCodes.usage : exitCodes.failed
}

/** Of a run that came to its end; `denied` counts what was denied without asking anybody. */
export function exitCodeOfRun({ status, denied }: { status: RunStatus; denied: number }): ExitCode {
  if (status === 'done') return denied > 0 ? exitCodes.denied : exitCodes.done
  return exitCodes[status]
}
