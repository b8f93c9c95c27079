import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addAgents } from './commands/agents.ts'
import type { Context } from './commands/context.ts'
import { addDiff } from './commands/diff.ts'
import { addDoctor } from './commands/doctor.ts'
import { addJobs } from './commands/jobs.ts'
import { addPermissions } from './commands/permissions.ts'
import { addRecord } from './commands/record.ts'
import { addResume } from './commands/resume.ts'
import { addRun } from './commands/run.ts'
import { addScriptedServer } from './commands/scripted-server.ts'
import { addSessions } from './commands/sessions.ts'
import { addShow } from './commands/show.ts'
import { addSkills } from './commands/skills.ts'
import { addTools } from './commands/tools.ts'
import { addTrust } from './commands/trust.ts'
import { addUndo } from './commands/undo.ts'
import { packageFile } from './with-troupe.ts'

const commands = [
  addRun,
  addResume,
  addSessions,
  addShow,
  addJobs,
  addDiff,
  addUndo,
  addAgents,
  addSkills,
  addTools,
  addPermissions,
  addTrust,
  addDoctor,
  addScriptedServer,
  addRecord,
]

/** The command line, complete. Parsing throws commander's errors and prints nothing but help. */
export function createProgram(context: Context): Command {
  const program = new Command('troupe')
    .description('Many AI agents at once on your own machine.')
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--debug', 'print the stack of an error')
    .configureOutput({ writeOut: (text) => void context.io.stdout.write(text), writeErr() {}, outputError() {} })
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
  for (const add of commands) add(program, context)
  return program
}

/** Version of this package. */
function readVersion(): string {
  return JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version
}
