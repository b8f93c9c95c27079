import * as z from 'zod'
import { defineTool } from './define-tool.ts'
import { defaultPageLines, pageOf, pastEnd, windowOf } from './pagination.ts'
import { toolsets } from './toolsets.ts'

/** Pages through a child's conversation, by the same lines and notices as `read`. */
export const readSubAgent = defineTool({
  name: 'read_sub_agent',
  description:
    'Read what a sub-agent of yours did and said, by pages of lines. For when its result was cut or is not enough.',
  input: z.object({
    job: z.string().describe('Alias of the job, such as exp-1'),
    offset: z.int().min(0).optional().describe('First line to return, from 1'),
    limit: z.int().min(1).optional().describe(`Lines to return; default ${defaultPageLines}`),
  }),
  effect: 'read',
  keep: 'head',
  permission: () => undefined,

  async run(
    { job, offset = 1, limit = defaultPageLines },
    { services, toolset, nameOf, maxChars = toolsets[toolset].maxChars },
  ) {
    const reply = await services.transcript(job)
    if ('refused' in reply) return { output: reply.refused, isError: true }
    const window = windowOf(Buffer.from(reply.text), offset, limit)
    if (window.total === 0) return { title: job, output: `${job} has said nothing yet.` }
    if (window.lines.length === 0) return { title: job, output: pastEnd(job, window.total, offset) }
    const page = pageOf({ window, label: job, tool: nameOf('read_sub_agent'), maxChars, numbered: false })
    return { title: job, output: page.text }
  },
})
