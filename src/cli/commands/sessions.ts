import { columnsOf, printJson, printLines } from '../io.ts'
import { loadLibrary } from '../load-library.ts'
import { localTime } from '../terminal/numbers.ts'
import { tableLines } from '../terminal/table.ts'
import type { AddCommand } from './context.ts'

/** `troupe sessions`: all root sessions, newest first. */
export const addSessions: AddCommand = (program, { io }) => {
  program
    .command('sessions')
    .description('list sessions, newest first')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const { listSessions } = await loadLibrary()
      const sessions = listSessions()
      if (json) return printJson(io, sessions)
      if (sessions.length === 0) return void io.stderr.write('No sessions yet. Begin one: troupe run "what to do"\n')
      const rows = sessions.map((one) => [one.session, one.agent, localTime(one.updatedAt), stateOf(one), one.prompt])
      printLines(io, tableLines(['SESSION', 'AGENT', 'LAST CHANGE', 'STATE', 'PROMPT'], rows, columnsOf(io)))
    })
}

function stateOf({ lockedBy, damaged }: { lockedBy?: number; damaged?: string }): string {
  if (damaged !== undefined) return 'damaged'
  return lockedBy === undefined ? '' : `runs (pid ${lockedBy})`
}
