import { printJson } from '../io.ts'
import { loadLibrary } from '../load-library.ts'
import { stripControls } from '../terminal/sanitize.ts'
import type { AddCommand } from './context.ts'

/** `troupe show`: a session's conversation, readable. */
export const addShow: AddCommand = (program, { io }) => {
  program
    .command('show')
    .description('print what was said and done in a session')
    .argument('<id>', 'session; a job is the session `<parent>-<alias>`')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: { json?: boolean }) => {
      const { readTranscript } = await loadLibrary()
      const lines = readTranscript(id)
      if (json) return printJson(io, lines)
      const blocks = lines.map(({ title, text }) => `${io.style.bold(stripControls(title))}\n${indented(text)}`)
      io.stdout.write(`${blocks.join('\n\n')}\n`)
    })
}

function indented(text: string): string {
  return stripControls(text)
    .replace(/^(?=.)/gm, '  ')
    .trimEnd()
}
