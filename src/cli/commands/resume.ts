import { addRunOptions, type RunOptions } from '../options.ts'
import type { AddCommand } from './context.ts'

/** `troupe resume`: goes on where a session stopped. */
export const addResume: AddCommand = (program, { io, finish }) => {
  const command = program
    .command('resume')
    .description('go on with a session that was interrupted, failed or reached a limit')
    .argument('<id>', 'session, as `troupe sessions` lists it')
    .argument('[prompt...]', 'what to say to it; - reads it from stdin')
  addRunOptions(command).action(async (id: string, words: string[], options: RunOptions) => {
    const { readPrompt } = await import('../run/read-prompt.ts')
    const { followRun } = await import('../run/follow-run.ts')
    const prompt = words.length === 0 ? undefined : await readPrompt(words, io)
    finish(await followRun(io, { options, session: id, start: (troupe) => troupe.resume(id, prompt) }))
  })
}
