import { exitCodes } from '../exit-codes.ts'
import { printJson, printLines } from '../io.ts'
import { loadLibrary } from '../load-library.ts'
import { wholeNumber } from '../options.ts'
import { oneLine } from '../terminal/sanitize.ts'
import type { AddCommand } from './context.ts'
import { uncovered } from './diff.ts'

type Options = { job?: string; turn?: number; json?: boolean }

/** `troupe undo`: puts back what a run's tools changed and nobody changed since. */
export const addUndo: AddCommand = (program, { io, finish }) => {
  program
    .command('undo')
    .description('put back the files that a run changed and nobody changed since')
    .argument('<session>', 'session, as `troupe sessions` lists it')
    .option('--job <alias>', 'only what this job and those under it changed')
    .option('--turn <n>', 'only what came of this turn', wholeNumber)
    .option('--json', 'print JSON')
    .action(async (session: string, { job, turn, json }: Options) => {
      const { undoChanges } = await loadLibrary()
      const outcome = await undoChanges({ session, job, turn })
      const { restored, removed, left, shellCommands } = outcome
      if (left.length > 0) finish(exitCodes.failed)
      if (json) return printJson(io, outcome)
      printLines(io, [
        ...restored.map((path) => `restored  ${oneLine(path)}`),
        ...removed.map((path) => `removed   ${oneLine(path)}`),
        ...left.map(({ path, why }) => `left      ${oneLine(path)}: ${oneLine(why)}`),
      ])
      if (restored.length + removed.length + left.length === 0) io.stderr.write('Nothing to undo.\n')
      io.stderr.write(`${uncovered(shellCommands)}\n`)
    })
}
