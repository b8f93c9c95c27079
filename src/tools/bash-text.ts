import { constants } from 'node:os'
import type { ProcessOutcome } from '../core/messages.ts'
import type { Toolset } from './define-tool.ts'
import { count, headOf, tailOf } from './text.ts'
import { toolsets } from './toolsets.ts'

/** What the model sees of a command: its output, within the toolset's limit if parts are missing, then notes in brackets. */
export function shellText(
  outcome: ProcessOutcome,
  { timeoutMs, toolset }: { timeoutMs: number; toolset: Toolset },
): string {
  const notes = notesOf(outcome, timeoutMs)
  const text = outcome.droppedBytes > 0 ? cutText(outcome, toolset, notes) : outcome.head + outcome.tail
  if (outcome.ended === 'failed' && text === '') return outcome.error ?? 'The command failed to run.'
  if (notes === '') return text || '(no output)'
  return `${text || '(no output)'}${text.endsWith('\n') ? '' : '\n'}${notes}`
}

/** Output of which only head and tail have come: the rest was too long to keep. */
function cutText(outcome: ProcessOutcome, toolset: Toolset, notes: string): string {
  const { maxChars, shorten } = toolsets[toolset]
  const room = maxChars - notes.length - 1
  if (shorten === 'end') {
    const mark = '...[truncated]'
    return headOf(outcome.head, room - mark.length) + mark
  }
  const half = Math.floor((room - markOf(outcome, outcome.totalBytes).length - 2) / 2)
  const head = headOf(outcome.head, half)
  const tail = tailOf(outcome.tail, half)
  const dropped = outcome.totalBytes - Buffer.byteLength(head) - Buffer.byteLength(tail)
  return `${head}\n${markOf(outcome, dropped)}\n${tail}`
}

function markOf({ spilled, totalBytes }: ProcessOutcome, dropped: number): string {
  if (spilled === undefined) return `... [${dropped} bytes truncated; the rest could not be stored ] ...`
  const extent = spilled.bytes < totalBytes ? `first ${spilled.bytes} bytes` : 'full output'
  return `... [${dropped} bytes truncated; ${extent}: ${spilled.path} ] ...`
}

function notesOf(outcome: ProcessOutcome, timeoutMs: number): string {
  const { leftRunning, error } = outcome
  const notes = [
    error,
    leftRunning > 0 &&
      `${count(leftRunning, 'background process', 'background processes')} left running ${leftRunning === 1 ? 'was' : 'were'} ended`,
    ...endOf(outcome, timeoutMs),
  ]
  return notes
    .filter((note) => note !== undefined && note !== false)
    .map((note) => `[${note}]`)
    .join('\n')
}

function endOf({ ended, exitCode, signal }: ProcessOutcome, timeoutMs: number): string[] {
  switch (ended) {
    case 'timed-out':
      return [`timed out after ${timeoutMs} ms; output so far is above`]
    case 'cancelled':
      return ['cancelled; output so far is above']
    case 'failed':
      return []
    case 'exited':
      if (signal !== null) return [`killed by signal ${signal}`]
      return exitCode === 0 || exitCode === null ? [] : [...hintOf(exitCode), `exit code: ${exitCode}`]
  }
}

const deadly = ['SIGILL', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGKILL', 'SIGSEGV', 'SIGTERM', 'SIGXCPU', 'SIGXFSZ'] as const

// A shell tells of the death of its last process by its own exit code.
function hintOf(exitCode: number): string[] {
  const name = deadly.find((signal) => exitCode === 128 + constants.signals[signal])
  if (name === undefined) return []
  return [`a process was killed by signal ${name}${name === 'SIGKILL' ? ', perhaps for lack of memory' : ''}`]
}
