import type { Diagnostic } from '../../core/agent.ts'
import type { RuntimeEvent } from '../../core/events.ts'
import type { Troupe } from '../../index.ts'
import type { Io } from '../io.ts'
import { plural, withSeparators } from '../terminal/numbers.ts'
import { oneLine } from '../terminal/sanitize.ts'

type RunFinished = Extract<RuntimeEvent, { type: 'run.finished' }>

const shownDiagnostics = 5

/** What a run starts with: model, slots, context and folder on one line, then what the user should know. */
export function headerLines(troupe: Pick<Troupe, 'model' | 'dir' | 'notes' | 'diagnostics'>): string[] {
  const { ref, slots, contextTokens, note } = troupe.model
  const parts = [
    ref,
    slots === null ? 'slots: no limit' : plural(slots, 'slot'),
    `${withSeparators(contextTokens)} tokens of context`,
    troupe.dir,
  ]
  return [
    `troupe: ${parts.map(oneLine).join(' · ')}`,
    ...[...(note === undefined ? [] : [note]), ...troupe.notes].map(oneLine),
    ...diagnosticLines(troupe.diagnostics),
  ]
}

/** One line each, with where it is. */
export function diagnosticLine({ path, line, severity, message }: Diagnostic): string {
  return oneLine(`${path}${line === undefined ? '' : `:${line}`}: ${severity}: ${message}`)
}

/** What somebody who lists definitions should know first, on stderr: what was left out, and why. */
export function reportDiagnostics({ stderr }: Io, notes: readonly string[], diagnostics: readonly Diagnostic[]): void {
  for (const line of [...notes.map(oneLine), ...diagnostics.map(diagnosticLine)]) stderr.write(`${line}\n`)
}

/** What a run ends with, by how it ended: what went wrong and what to do about it. */
export function endingLines(finished: RunFinished): string[] {
  const id = finished.root
  const lost = finished.jobs.filter((job) => !job.delivered && job.state !== 'cancelled')
  return [
    ...statusLines(finished),
    ...(finished.denied > 0 ? [deniedLine(finished.denied)] : []),
    ...(lost.length > 0 && finished.status !== 'done'
      ? [
          `Not delivered: ${lost.map((job) => `${oneLine(job.alias)} (${job.state})`).join(', ')}. See: troupe jobs ${id}`,
        ]
      : []),
  ]
}

function statusLines({ status, error, root }: RunFinished): string[] {
  const reason = error === undefined ? '' : oneLine(error.message)
  switch (status) {
    case 'done':
      return []
    case 'failed':
      return [`troupe: ${reason || 'the run failed'}`, `To go on: troupe resume ${root}`]
    case 'limit':
      return [`troupe: ${reason || 'a limit was reached'}`, `To go on: troupe resume ${root}`]
    case 'interrupted':
      return [`Interrupted. To go on: troupe resume ${root}`]
  }
}

function deniedLine(denied: number): string {
  return `${plural(denied, 'call')} denied because nobody was asked. Allow with --allow KEY:PATTERN or --permission edits|allow.`
}

function diagnosticLines(diagnostics: readonly Diagnostic[]): string[] {
  const left = diagnostics.length - shownDiagnostics
  return [
    ...diagnostics.slice(0, shownDiagnostics).map(diagnosticLine),
    ...(left > 0 ? [`… and ${left} more: troupe doctor lists them`] : []),
  ]
}
