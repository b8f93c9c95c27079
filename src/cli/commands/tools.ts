import { columnsOf, printJson, printLines } from '../io.ts'
import { addWorkspaceOptions, countFromZero, type WorkspaceOptions } from '../options.ts'
import { tableLines } from '../terminal/table.ts'
import { withTroupe } from '../with-troupe.ts'
import type { AddCommand } from './context.ts'

type ToolsOptions = WorkspaceOptions & { json?: boolean; agent: string; depth: number }

/** `troupe tools`: what an agent would be offered at a depth, as the model sees it. */
export const addTools: AddCommand = (program, { io }) => {
  const command = program
    .command('tools')
    .description('list the tools that an agent is offered, under the names that its model sees')
    .option('--agent <name>', 'agent', 'lead')
    .option('--depth <n>', '0: it talks to the user; 1: it is a sub-agent, and so on', countFromZero, 0)
    .option('--json', 'print JSON, schemas included')
  addWorkspaceOptions(command).action(async ({ json, agent, depth, ...options }: ToolsOptions) => {
    await withTroupe({ ...options, host: 'inline' }, (troupe) => {
      const tools = troupe.tools(agent, depth)
      if (json) return printJson(io, tools)
      const rows = tools.map(({ name, description }) => [name, description])
      printLines(io, tableLines(['TOOL', 'DESCRIPTION'], rows, columnsOf(io)))
    })
  })
}
