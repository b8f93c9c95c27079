#!/usr/bin/env node
import { CommanderError } from 'commander'
import { messageOf } from '../core/errors.ts'
import { type ExitCode, exitCodeOfError, exitCodes } from './exit-codes.ts'
import { drained, type Io, processIo } from './io.ts'
import { createProgram } from './program.ts'
import { stripControls } from './terminal/sanitize.ts'

const io = processIo()
const exitCode = await main(process.argv.slice(2), io)
await drained(io)
// Not left to the event loop: a thread or socket that somebody forgot must not keep a finished command up.
process.exit(exitCode)

async function main(args: string[], io: Io): Promise<number> {
  // `--debug` may stand anywhere; it is no option of any one command.
  const debug = args.includes('--debug')
  let code: ExitCode = exitCodes.done
  const finish = (finished: ExitCode) => {
    code = finished
  }
  const program = createProgram({ io, finish })
  try {
    await program.parseAsync(
      args.filter((arg) => arg !== '--debug'),
      { from: 'user' },
    )
    return code
  } catch (error) {
    return error instanceof CommanderError ? failedParsing(error, args, io) : failed(error, debug, io)
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

function failed(error: unknown, debug: boolean, { stderr, readerGone }: Io): number {
  if (readerGone.aborted) return exitCodes.done
  const text = debug && error instanceof Error ? (error.stack ?? error.message) : messageOf(error)
  stderr.write(`troupe: ${debug ? text : stripControls(text).replace(/\s*\n\s*/g, ' ')}\n`)
  return exitCodeOfError(error)
}
