import { printLines } from '../io.ts'
import { loadLibrary } from '../load-library.ts'
import { trustLines } from '../run/ask-trust.ts'
import { oneLine } from '../terminal/sanitize.ts'
import type { AddCommand } from './context.ts'

/** `troupe trust`: from now on the configuration that a folder brings counts. */
export const addTrust: AddCommand = (program, { io }) => {
  program
    .command('trust')
    .description("let a folder's own configuration count from now on")
    .argument('[dir]', 'folder (default: this one)', '.')
    .action(async (dir: string) => {
      const { examineTrust, trustFolder } = await loadLibrary()
      const { parts } = await examineTrust(dir)
      const trusted = await trustFolder(dir)
      const [, ...brought] = trustLines(trusted, { parts, changed: [] })
      printLines(io, [`Trusted: ${oneLine(trusted)}`, ...brought])
    })
}
