import * as z from 'zod'
import { applyChange, type ChangeRequest, editRequest, prepareChange } from './change-file.ts'
import { defineTool, type ToolContext } from './define-tool.ts'
import { count } from './text.ts'
import { assertWholeCharacters } from './text-coding.ts'

/** Creates or replaces one file with exactly the text given; makes its folders. */
export const write = defineTool({
  name: 'write',
  description:
    'Create a file, or replace a whole one, with exactly this content. Folders are made. To change a part of a file, use edit.',
  input: z.object({
    file_path: z.string().describe('File, absolute or relative to the workspace'),
    content: z.string().describe('The whole new content'),
  }),
  effect: 'write',
  permission: (input, context) => editRequest(changeOf(input, context)),
  prepare: (input, context) => prepareChange('write', changeOf(input, context)),
  run: (input, context, approved) => applyChange(changeOf(input, context), approved),
})

function changeOf({ file_path, content }: { file_path: string; content: string }, context: ToolContext): ChangeRequest {
  assertWholeCharacters({ content })
  const file = context.workspace.resolve(file_path)
  const after = Buffer.from(content, 'utf8')
  const lines = content === '' ? 0 : content.split('\n').length - (content.endsWith('\n') ? 1 : 0)
  const size = `${count(lines, 'line')}, ${count(after.length, 'byte')}`
  return {
    file,
    context,
    plan: (before) => ({ after, summary: `${before ? 'Replaced' : 'Created'} ${file.relative} (${size}).` }),
  }
}
