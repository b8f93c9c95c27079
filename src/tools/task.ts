import * as z from 'zod'
import { defineTool } from './define-tool.ts'
import { loadContext } from './load-context.ts'

/** Starts a sub-agent, or continues a finished one. In the foreground the supervisor answers the call. */
export const task = defineTool({
  name: 'task',
  description:
    'Give a job to a sub-agent. It works on its own and sees only your prompt, so say all it needs and what to report. Send independent jobs in one message: they run side by side. With background you go on at once, and the result comes by itself as sub_agent_result; never poll for it.',
  input: z.object({
    agent: z.string().describe('One of the agents below'),
    prompt: z.string().min(1).describe('The complete instructions'),
    description: z.string().optional().describe('The job in 3 to 5 words, for people'),
    background: z.boolean().optional().describe('Do not wait for the result'),
    job: z.string().optional().describe('Alias of a finished job to continue, such as exp-1: it keeps what it knows'),
    context: z
      .array(z.string())
      .optional()
      .describe(
        'Files whose contents it gets with the prompt, so that it need not read them; "job:exp-1": those that this job has read',
      ),
    files: z
      .array(z.string().min(1))
      .optional()
      .describe('Globs of the files that it alone may change while it works, such as src/auth/**'),
    isolation: z
      .enum(['worktree'])
      .optional()
      .describe('worktree: it works in a git worktree of its own, from the last commit; its result names the branch'),
    timeout_ms: z.int().min(1).optional().describe('Longest time at work, in milliseconds'),
    max_turns: z.int().min(1).optional().describe('Most turns it may take'),
  }),
  // Launching is recorded by the supervisor before it happens, so it is never done twice; tasks run side by side.
  effect: 'read',
  permission: ({ agent }) => ({ key: 'task', pattern: agent }),

  async run(
    { agent, prompt, description, background = false, job, context, files, isolation, timeout_ms, max_turns },
    world,
  ) {
    const handed = context?.length ? await loadContext(context, world) : undefined
    const reply = await world.services.launch({
      agent,
      prompt,
      description,
      background,
      job,
      ...(handed && { context: handed.files }),
      ...(files?.length && { claims: files }),
      ...(isolation && { isolation }),
      timeoutMs: timeout_ms,
      maxTurns: max_turns,
    })
    if ('refused' in reply) return { output: reply.refused, isError: true }
    if ('waiting' in reply) return 'waiting'
    const { alias } = reply.launched
    const notes = [...(handed?.notes ?? []), ...reply.launched.notes]
    const started = `${alias} (${agent}) has started in the background. Its result will come by itself as sub_agent_result. Go on with other work, or end your turn to wait for it.`
    return {
      title: `${alias} started`,
      output: [started, ...notes].join('\n'),
      metadata: { alias, agent },
    }
  },
})
