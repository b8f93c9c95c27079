import { relative } from 'node:path'
import type { FileRow, SavedJob } from '../../index.ts'
import { columnsOf, type Io, printJson, printLines } from '../io.ts'
import { loadLibrary } from '../load-library.ts'
import { tableLines } from '../terminal/table.ts'
import type { AddCommand } from './context.ts'

type Options = { json?: boolean; files?: boolean }

/** `troupe jobs`: what sub-agents did, of one session or of all; with `--files`, file by file. */
export const addJobs: AddCommand = (program, { io }) => {
  program
    .command('jobs')
    .description('list the jobs of a session, or of all, or the files that they know')
    .argument('[id]', 'session, as `troupe sessions` lists it')
    .option('--files', 'list files: who has read, written and claimed each')
    .option('--json', 'print JSON')
    .action(async (id: string | undefined, { json, files }: Options) => {
      const { listJobs, listFiles } = await loadLibrary()
      if (files) return printFiles(io, listFiles(id), json)
      const jobs = listJobs(id)
      if (json) return printJson(io, jobs)
      if (jobs.length === 0) return void io.stderr.write('No jobs yet: no agent has sent another one.\n')
      printLines(io, tableLines(jobHeading, jobs.map(jobCells), columnsOf(io)))
    })
}

const jobHeading = ['JOB', 'AGENT', 'STATE', 'DELIVERED', 'SESSION', 'KNOWS', 'HOLDS', 'WHAT']
const fileHeading = ['FILE', 'READ BY', 'WRITTEN BY', 'HELD BY']
const shownFiles = 2
const maxHolds = 40

function jobCells({ alias, agent, state, delivered, job, files, holds = [], dir, description }: SavedJob): string[] {
  const names = files.slice(0, shownFiles).map(({ path }) => shown(path, dir))
  const more = files.length - names.length
  const known = names.join(', ') + (more > 0 ? ` and ${more} more` : '')
  const held = holds.join(', ')
  const claim = held.length > maxHolds ? `${held.slice(0, maxHolds - 1)}…` : held
  return [alias, agent, state.replace('_', ' '), delivered ? 'yes' : 'no', job, known || '-', claim || '-', description]
}

function printFiles(io: Io, rows: FileRow[], json?: boolean): void {
  if (json) return printJson(io, rows)
  if (rows.length === 0) return void io.stderr.write('No files yet: no agent has read or written one.\n')
  printLines(io, tableLines(fileHeading, rows.map(fileCells), columnsOf(io)))
}

function fileCells({ path, readers, writers, holder }: FileRow): string[] {
  const read = readers.map(({ alias, stale }) => (stale ? `${alias} (stale)` : alias))
  const wrote = writers.map(({ alias }) => alias)
  return [shown(path, process.cwd()), read.join(', '), wrote.join(', ') || '-', holder?.alias ?? '-']
}

function shown(path: string, dir: string): string {
  const short = relative(dir, path)
  return short.startsWith('..') ? path : short
}
