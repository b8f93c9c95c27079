import { addRunOptions, milliseconds, type RunOptions, wholeNumber } from '../options.ts'
import type { AddCommand } from './context.ts'

/** `troupe run`: one prompt, one answer. */
export const addRun: AddCommand = (program, { io, finish }) => {
  const command = program
    .command('run')
    .description('run an agent on a prompt; the answer goes to stdout')
    .argument('[prompt...]', 'what to do; - reads it from stdin')
    .option('--agent <name>', 'agent that takes the prompt (default: lead)')
    .option('--session <id>', 'continue this session, or begin it under this id')
    .option('--max-turns <n>', 'most turns of the session', wholeNumber)
    .option('--timeout <seconds>', 'longest time of the run', milliseconds)
  addRunOptions(command).action(async (words: string[], options: RunOptions) => {
    const { readPrompt } = await import('../run/read-prompt.ts')
    const { followRun } = await import('../run/follow-run.ts')
    const prompt = await readPrompt(words, io)
    const { agent, session, maxTurns, timeout: timeoutMs } = options
    finish(
      await followRun(io, {
        options,
        session,
        start: (troupe, schema) =>
          troupe.run({ prompt, agent, session, maxTurns, timeoutMs, outputSchema: schema?.schema }),
      }),
    )
  })
}
