import * as z from 'zod'
import { defineTool } from './define-tool.ts'

/** Stops a child and all under it. */
export const taskCancel = defineTool({
  name: 'task_cancel',
  description: 'Stop a sub-agent and all that it has sent. You get what each had so far.',
  input: z.object({ job: z.string().describe('Alias of the job, such as exp-1') }),
  effect: 'read',
  permission: () => undefined,

  async run({ job }, { services }) {
    const reply = await services.cancelChild(job)
    return reply === 'waiting' ? reply : { title: job, output: reply.text, isError: reply.isError }
  },
})
