import * as z from 'zod'
import { defineTool } from './define-tool.ts'

/** Says something to a child at work. */
export const taskSend = defineTool({
  name: 'task_send',
  description:
    'Send a message to a sub-agent at work. It reads it at its next step; with interrupt it stops what it is doing first.',
  input: z.object({
    job: z.string().describe('Alias of the job, such as exp-1'),
    message: z.string().min(1),
    interrupt: z.boolean().optional().describe('Stop its present step first'),
  }),
  effect: 'read',
  permission: () => undefined,

  async run({ job, message, interrupt = false }, { services }) {
    const { text, isError } = await services.sendToChild({ alias: job, text: message, interrupt })
    return { title: job, output: text, isError }
  },
})
