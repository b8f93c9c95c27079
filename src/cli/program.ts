import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import type { Context } from './commands/context.ts'
import { addResume } from './commands/resume.ts'
import { addRun } from './commands/run.ts'

const commands = [addRun, addResume]

/** The command line, complete. Parsing throws commander's errors and prints nothing but help. */
export function createProgram(context: Context): Command {
  const program = new Command('troupe')
    .description('Many AI agents at once on your own machine.')
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--debug', 'print the stack of an error')
    .configureOutput({ writeOut: (text) => void context.io.stdout.write(text), outputError() {} })
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
  for (const add of commands) add(program, context)
  return program
}

/** Version of this package, from its package.json: one folder up from `dist/`, two from `src/cli/`. */
export function readVersion(): string {
  const place = import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json'
  return JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')).version
}
