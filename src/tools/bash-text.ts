import { constants } from 'node:os'
import type { ProcessOutcome, ProcessOutput } from '../core/messages.ts'
import type { Toolset } from './define-tool.ts'
import { count, headOf, tailOf } from './text.ts'
import { toolsets } from './toolsets.ts'

/** `maxChars`: longest text, where it is less than the toolset's. */
export type ShellTextOptions = { timeoutMs: number; toolset: Toolset; maxChars?: number }

/** Bytes to keep of an output's head and tail each, so that a text of this many characters can be made of them. */
export function bytesToKeep(toolset: Toolset): number {
  const { maxChars, shorten } = toolsets[toolset]
  return shorten === 'end' ? maxChars * maxBytesPerChar : (maxChars * maxBytesPerChar) / 2
}

/** What the model sees of a command: its output, within the limit if parts are missing, then notes in brackets. */
export function shellText(
  outcome: ProcessOutcome,
  { timeoutMs, toolset, maxChars = toolsets[toolset].maxChars }: ShellTextOptions,
): string {
  const { sectionsOutput, shorten } = toolsets[toolset]
  const notes = notesOf(outcome, timeoutMs, sectionsOutput)
  const errors = outcome.stderr === undefined ? '' : stderrSection(outcome.stderr, Math.floor(maxChars / 4))
  const below = [errors, notes].filter((part) => part !== '').join('\n')
  const text = outcome.droppedBytes > 0 ? cutText(outcome, shorten, maxChars - below.length - 1) : whole(outcome)
  if (outcome.ended === 'failed' && text === '' && errors === '') return outcome.error ?? 'The command failed to run.'
  if (below === '') return text || '(no output)'
  if (text === '') return errors === '' ? `(no output)\n${below}` : below
  return shorten === 'end' ? `${cutEnd(text, maxChars - below.length - 1)}\n${below}` : `${withBreak(text)}${below}`
}

function whole({ head, tail }: ProcessOutput): string {
  return head + tail
}

function withBreak(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}

/** Of UTF-8, for a UTF-16 unit. */
const maxBytesPerChar = 3
const cutMark = '...[truncated]'

function cutEnd(text: string, maxChars: number): string {
  const shown = text.replace(/\n$/, '')
  return shown.length <= maxChars ? shown : headOf(shown, maxChars - cutMark.length) + cutMark
}

/** Its end, where errors are told. */
function stderrSection(output: ProcessOutput, maxChars: number): string {
  const text = whole(output).replace(/\n$/, '')
  if (text === '') return ''
  const isWhole = output.droppedBytes === 0 && text.length <= maxChars
  return `[stderr]\n${isWhole ? text : `${cutMark}\n${tailOf(text, maxChars - cutMark.length)}`}`
}

/** Output of which only head and tail have come: the rest was too long to keep. */
function cutText(outcome: ProcessOutput, shorten: 'middle' | 'end', room: number): string {
  if (shorten === 'end') return headOf(outcome.head, room - cutMark.length) + cutMark
  const half = Math.floor((room - markOf(outcome, outcome.totalBytes).length - 2) / 2)
  const head = headOf(outcome.head, half)
  const tail = tailOf(outcome.tail, half)
  const dropped = outcome.totalBytes - Buffer.byteLength(head) - Buffer.byteLength(tail)
  return `${head}\n${markOf(outcome, dropped)}\n${tail}`
}

function markOf({ spilled, totalBytes }: ProcessOutput, dropped: number): string {
  if (spilled === undefined) return `... [${dropped} bytes truncated; the rest could not be stored ] ...`
  const extent = spilled.bytes < totalBytes ? `first ${spilled.bytes} bytes` : 'full output'
  return `... [${dropped} bytes truncated; ${extent}: ${spilled.path} ] ...`
}

function notesOf(outcome: ProcessOutcome, timeoutMs: number, tellsSuccess: boolean): string {
  const { leftRunning, error } = outcome
  const notes = [
    error,
    leftRunning > 0 &&
      `${count(leftRunning, 'background process', 'background processes')} left running ${leftRunning === 1 ? 'was' : 'were'} ended`,
    ...endOf(outcome, timeoutMs, tellsSuccess),
  ]
  return notes
    .filter((note) => note !== undefined && note !== false)
    .map((note) => `[${note}]`)
    .join('\n')
}

function endOf({ ended, exitCode, signal }: ProcessOutcome, timeoutMs: number, tellsSuccess: boolean): string[] {
  switch (ended) {
    case 'timed-out':
      return [`timed out after ${timeoutMs} ms; output so far is above`]
    case 'cancelled':
      return ['cancelled; output so far is above']
    case 'failed':
      return []
    case 'exited':
      if (signal !== null) return [`killed by signal ${signal}`]
      if (exitCode === null || (exitCode === 0 && !tellsSuccess)) return []
      return [...hintOf(exitCode), `exit code: ${exitCode}`]
  }
}

const deadly = ['SIGILL', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGKILL', 'SIGSEGV', 'SIGTERM', 'SIGXCPU', 'SIGXFSZ'] as const

// A shell tells of the death of its last process by its own exit code.
function hintOf(exitCode: number): string[] {
  const name = deadly.find((signal) => exitCode === 128 + constants.signals[signal])
  if (name === undefined) return []
  return [`a process was killed by signal ${name}${name === 'SIGKILL' ? ', perhaps for lack of memory' : ''}`]
}
