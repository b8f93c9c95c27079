import { printLines } from '../io.ts'
import { loadLibrary } from '../load-library.ts'
import { oneLine } from '../terminal/sanitize.ts'
import type { AddCommand } from './context.ts'

/** `troupe trust`: from now on the configuration that a folder brings counts. */
export const addTrust: AddCommand = (program, { io }) => {
  program
    .command('trust')
    .description("let a folder's own configuration count from now on")
    .argument('[dir]', 'folder (default: this one)', '.')
    .action(async (dir: string) => {
      const { trustFolder } = await loadLibrary()
      const trusted = await trustFolder(dir)
      printLines(io, [`Trusted: ${oneLine(trusted)}`])
    })
}
