#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'
import { CommanderError } from 'commander'
import { messageOf, RuntimeError } from '../core/errors.ts'
import { type ExitCode, exitCodeOfError, exitCodes } from './exit-codes.ts'
import { drained, type Io, outputProblem, processIo } from './io.ts'
import { createProgram } from './program.ts'
import { stripControls } from './terminal/sanitize.ts'

// V8 would optimize the shell parser in the background, and a process does not end before that has: seconds, for nothing.
setFlagsFromString('--liftoff-only')

const io = processIo()
// `--debug` may stand anywhere; it is no option of any one command.
const debug = process.argv.includes('--debug')
if (debug) process.setSourceMapsEnabled(true)
process.on('uncaughtException', (error) => {
  failed(error, io)
  process.exit(exitCodes.failed)
})
let exitCode = await main(process.argv.slice(2), io)
await drained(io)
const problem = outputProblem(io)
if (problem !== undefined) {
  io.stderr.write(`troupe: ${problem}\n`)
  exitCode = exitCodes.failed
}
// Not left to the event loop: a thread or socket that somebody forgot must not keep a finished command up.
process.exit(exitCode)

async function main(args: string[], io: Io): Promise<number> {
  let code: ExitCode = exitCodes.done
  const finish = (finished: ExitCode) => {
    code = finished
  }
  const program = createProgram({ io, finish })
  try {
    requireCurrentFolder()
    await program.parseAsync(
      args.filter((arg) => arg !== '--debug'),
      { from: 'user' },
    )
    return code
  } catch (error) {
    return error instanceof CommanderError ? failedParsing(error, args, io) : failed(error, io)
  }
}

/** Help and version end this way too. */
function failedParsing(error: CommanderError, args: string[], { stderr }: Io): number {
  if (error.exitCode === 0) return exitCodes.done
  if (error.code === 'commander.help') {
    stderr.write('troupe: no command given. Try: troupe run "what to do", or troupe --help\n')
    return exitCodes.usage
  }
  const message = error.message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\.+$/, '')
  const command = args.find((arg) => !arg.startsWith('-'))
  const help =
    error.code === 'commander.unknownCommand' || command === undefined ? 'troupe --help' : `troupe ${command} --help`
  stderr.write(`troupe: ${stripControls(message)}. See: ${help}\n`)
  return exitCodes.usage
}

function failed(error: unknown, { stderr }: Io): number {
  if (debug) stderr.write(`troupe: ${error instanceof Error ? error.stack : messageOf(error)}\n`)
  else stderr.write(`troupe: ${stripControls(messageOf(error)).replace(/\s*\n\s*/g, ' ')}${bugHint(error)}\n`)
  return exitCodeOfError(error)
}

/** Without a current folder no worker thread starts, whatever --dir says. */
function requireCurrentFolder(): void {
  try {
    process.cwd()
  } catch (cause) {
    throw new RuntimeError('bad-dir', 'The folder you are in has been removed. Change to another one.', { cause })
  }
}

/** Expected failures have a code and say what to do. */
function bugHint(error: unknown): string {
  return error instanceof Error && 'code' in error ? '' : ' (a bug in troupe: --debug shows where)'
}
