import type { JobRow } from '../../index.ts'
import { columnsOf, printJson, printLines } from '../io.ts'
import { loadLibrary } from '../load-library.ts'
import { tableLines } from '../terminal/table.ts'
import type { AddCommand } from './context.ts'

/** `troupe jobs`: what sub-agents did, of one session or of all. */
export const addJobs: AddCommand = (program, { io }) => {
  program
    .command('jobs')
    .description('list the jobs of a session, or of all')
    .argument('[id]', 'session, as `troupe sessions` lists it')
    .option('--json', 'print JSON')
    .action(async (id: string | undefined, { json }: { json?: boolean }) => {
      const { listJobs } = await loadLibrary()
      const jobs = listJobs(id)
      if (json) return printJson(io, jobs)
      if (jobs.length === 0) return void io.stderr.write('No jobs yet: no agent has sent another one.\n')
      printLines(
        io,
        tableLines(['JOB', 'AGENT', 'STATE', 'DELIVERED', 'SESSION', 'WHAT'], jobs.map(cells), columnsOf(io)),
      )
    })
}

function cells({ alias, agent, state, delivered, job, description }: JobRow): string[] {
  return [alias, agent, state.replace('_', ' '), delivered ? 'yes' : 'no', job, description]
}
