import { columnsOf, printJson, printLines } from '../io.ts'
import { addWorkspaceOptions, type WorkspaceOptions } from '../options.ts'
import { reportDiagnostics } from '../run/run-lines.ts'
import { tableLines } from '../terminal/table.ts'
import { withoutModel, withTroupe } from '../with-troupe.ts'
import type { AddCommand } from './context.ts'

/** `troupe skills`: the skills that agents can load in a folder. */
export const addSkills: AddCommand = (program, { io }) => {
  const command = program.command('skills').description('list the skills of a folder').option('--json', 'print JSON')
  addWorkspaceOptions(command).action(async ({ json, ...options }: WorkspaceOptions & { json?: boolean }) => {
    await withTroupe(withoutModel(options), ({ skills, diagnostics, notes }) => {
      reportDiagnostics(io, notes, diagnostics)
      if (json) return printJson(io, skills)
      const rows = skills.map(({ name, source, description }) => [name, source.kind, description])
      printLines(io, tableLines(['SKILL', 'FROM', 'DESCRIPTION'], rows, columnsOf(io)))
    })
  })
}
