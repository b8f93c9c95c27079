import * as z from 'zod'
import { defineTool } from './define-tool.ts'

const defaultMs = 60_000
const maxMs = 600_000

/** Waits for children at no cost: the session is suspended, the supervisor answers the call. */
export const taskWait = defineTool({
  name: 'task_wait',
  description:
    'Wait until one of your background sub-agents ends, the user writes, or the time is over. Results come by themselves, so use this only when you can do nothing else and must not end your turn.',
  input: z.object({
    jobs: z.array(z.string()).optional().describe('Aliases to wait for; default: any'),
    timeout_ms: z
      .int()
      .min(1)
      .optional()
      .describe(`Longest wait in milliseconds, at most ${maxMs}; default ${defaultMs}`),
  }),
  effect: 'read',
  permission: () => undefined,

  async run({ jobs = [], timeout_ms = defaultMs }, { services }) {
    const reply = await services.waitForJobs({ jobs, timeoutMs: Math.min(timeout_ms, maxMs) })
    return reply === 'waiting' ? reply : { output: reply.text, isError: reply.isError }
  },
})
