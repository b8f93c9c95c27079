import { printJson } from '../io.ts'
import { loadLibrary } from '../load-library.ts'
import { wholeNumber } from '../options.ts'
import { plural } from '../terminal/numbers.ts'
import { oneLine, stripControls } from '../terminal/sanitize.ts'
import type { AddCommand } from './context.ts'

type Options = { job?: string; turn?: number; json?: boolean }

/** `troupe diff`: what a run's tools changed, by job. */
export const addDiff: AddCommand = (program, { io }) => {
  program
    .command('diff')
    .description('show what a run changed, by job')
    .argument('<session>', 'session, as `troupe sessions` lists it')
    .option('--job <alias>', 'only this job and those under it')
    .option('--turn <n>', 'only what came of this turn', wholeNumber)
    .option('--json', 'print JSON')
    .action(async (session: string, { job, turn, json }: Options) => {
      const { diffChanges } = await loadLibrary()
      const found = diffChanges({ session, job, turn })
      if (json) return printJson(io, found)
      for (const { alias, agent, branch, files } of found.jobs) {
        const title = `${oneLine(alias)} (${oneLine(agent)}): ${plural(files.length, 'file')}${branch ? ` on branch ${branch}` : ''}`
        io.stdout.write(`${io.style.bold(title)}\n`)
        // Into a file or a pipe it goes as it is: it may be applied as a patch.
        for (const { diff } of files) io.stdout.write(io.stdout.isTTY ? stripControls(diff) : diff)
        io.stdout.write('\n')
      }
      if (found.jobs.length === 0) io.stderr.write('No changes: no tool has written a file.\n')
      io.stderr.write(`${uncovered(found.shellCommands)}\n`)
    })
}

/** Of diff and undo alike: what they cannot know. */
export function uncovered(shellCommands: number): string {
  const ran = shellCommands === 0 ? 'none ran' : `${plural(shellCommands, 'command')} ran`
  return `Changes by shell commands are not covered (${ran}).`
}
