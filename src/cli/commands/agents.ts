import { columnsOf, printJson, printLines } from '../io.ts'
import { addWorkspaceOptions, type WorkspaceOptions } from '../options.ts'
import { reportDiagnostics } from '../run/run-lines.ts'
import { tableLines } from '../terminal/table.ts'
import { withoutModel, withTroupe } from '../with-troupe.ts'
import type { AddCommand } from './context.ts'

/** `troupe agents`: the agents that can be used in a folder. */
export const addAgents: AddCommand = (program, { io }) => {
  const command = program.command('agents').description('list the agents of a folder').option('--json', 'print JSON')
  addWorkspaceOptions(command).action(async ({ json, ...options }: WorkspaceOptions & { json?: boolean }) => {
    await withTroupe(withoutModel(options), ({ agents, diagnostics, notes }) => {
      reportDiagnostics(io, notes, diagnostics)
      if (json) return printJson(io, agents)
      const rows = agents.map(({ name, mode, source, description }) => [name, mode, source.kind, description])
      printLines(io, tableLines(['AGENT', 'MODE', 'FROM', 'DESCRIPTION'], rows, columnsOf(io)))
    })
  })
}
