import * as z from 'zod'
import { RuntimeError } from '../core/errors.ts'
import { applyChange, type ChangeRequest, editRequest, type PlannedChange, prepareChange } from './change-file.ts'
import { defineTool, type ToolContext } from './define-tool.ts'
import { explainMiss, explainSeveral } from './edit/explain-miss.ts'
import { findSpans, lineAt } from './edit/find-spans.ts'
import { replaceSpans } from './edit/replace-spans.ts'
import { explained } from './explained.ts'
import { count } from './text.ts'
import { toolsets } from './toolsets.ts'
import type { ResolvedPath } from './workspace.ts'
import type { LoadedFile } from './workspace-files.ts'

const input = z.object({
  file_path: z.string().describe('File, absolute or relative to the workspace'),
  old_string: z.string().describe('Text to replace, exactly as in the file, with enough lines around to occur once'),
  new_string: z.string().describe('Text to put there'),
  replace_all: z.boolean().default(false).describe('Replace every occurrence'),
})

type Input = z.output<typeof input>

/** Replaces a text that occurs exactly once (or all of them); every byte outside of it stays as it is. */
export const edit = defineTool({
  name: 'edit',
  description:
    'Replace text in a file. Read the file first and copy old_string exactly, indentation included, line numbers not. It must occur once, unless replace_all is set.',
  input,
  effect: 'write',
  permission: ({ file_path }, { workspace }) => editRequest(workspace.resolve(file_path)),
  prepare: async (input, context) => prepareChange('edit', changeOf(input, context)),
  run: async (input, context, approved) => applyChange(changeOf(input, context), approved),
})

function changeOf(input: Input, context: ToolContext): ChangeRequest {
  if (input.old_string === input.new_string) {
    throw new RuntimeError('no-change', 'old_string and new_string are the same: there is nothing to change.')
  }
  const file = context.workspace.resolve(input.file_path)
  const plan = (before: LoadedFile | undefined) =>
    input.old_string === '' ? creation(input, file, before, context) : replacement(input, file, before, context)
  return { file, context, plan }
}

function creation(
  { new_string }: Input,
  file: ResolvedPath,
  before: LoadedFile | undefined,
  { nameOf }: ToolContext,
): PlannedChange {
  if (before && before.bytes.length > 0) {
    throw new RuntimeError(
      'empty-old-string',
      `old_string is empty, but ${file.relative} has content; nothing was changed. Give the text to replace, or use ${nameOf('write')} to replace the whole file.`,
    )
  }
  return { after: Buffer.from(new_string, 'utf8'), summary: `Created ${file.relative}.` }
}

/** Works on bytes (as Latin-1 text): whatever the file's encoding, nothing outside of the match is decoded and encoded again. */
function replacement(
  { old_string, new_string, replace_all }: Input,
  file: ResolvedPath,
  before: LoadedFile | undefined,
  context: ToolContext,
): PlannedChange {
  if (!before) throw context.workspace.notFound(file)
  const content = before.bytes.toString('latin1')
  const spans = findSpans(content, bytesOf(old_string))
  if (spans.length === 0) {
    throw miss(context, explainMiss(file.relative, before.bytes.toString('utf8'), old_string, context.nameOf('read')))
  }
  if (spans.length > 1 && !replace_all) throw miss(context, explainSeveral(file.relative, content, spans))
  const after = Buffer.from(replaceSpans(content, spans, bytesOf(new_string)), 'latin1')
  const where =
    spans.length === 1 ? `at line ${lineAt(content, spans[0]!.start)}` : `in ${count(spans.length, 'place')}`
  return { after, summary: `Edited ${file.relative} ${where}.` }
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

function miss({ toolset }: ToolContext, text: string): RuntimeError {
  return new RuntimeError(toolsets[toolset].editMissIsError ? 'no-single-match' : explained, text)
}
