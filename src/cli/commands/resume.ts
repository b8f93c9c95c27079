import type { Troupe } from '../../index.ts'
import { addRunOptions, milliseconds, type RunOptions, wholeNumber } from '../options.ts'
import type { AddCommand } from './context.ts'

/** `troupe resume`: goes on where a session stopped. */
export const addResume: AddCommand = (program, { io, finish }) => {
  const command = program
    .command('resume')
    .description('go on with a session that was interrupted, failed or reached a limit')
    .argument('<id>', 'session, as `troupe sessions` lists it')
    .argument('[prompt...]', 'what to say to it; - reads it from stdin')
    .option('--max-turns <n>', 'most turns from here on', wholeNumber)
    .option('--timeout <seconds>', 'longest time from here on', milliseconds)
  addRunOptions(command).action(async (id: string, words: string[], options: RunOptions) => {
    const { readPrompt } = await import('../run/read-prompt.ts')
    const { followRun } = await import('../run/follow-run.ts')
    const prompt = words.length === 0 ? undefined : await readPrompt(words, io)
    const { maxTurns, timeout: timeoutMs } = options
    const start = (troupe: Troupe) => troupe.resume(id, prompt, { maxTurns, timeoutMs })
    finish(await followRun(io, { options, session: id, start }))
  })
}
