import * as z from 'zod'
import { RuntimeError } from '../core/errors.ts'
import { applyChange, type ChangeRequest, editRequest, prepareChange } from './change-file.ts'
import { defineTool, type ToolContext } from './define-tool.ts'
import { explained } from './explained.ts'
import type { ResolvedPath } from './workspace.ts'
import type { LoadedFile } from './workspace-files.ts'

const defaultFile = '.troupe/memory.md'
/** What every later session reads must stay short. */
const maxChars = 12_000

const input = z.object({
  content: z.string().min(1).describe('What to remember, in short lines that stand alone'),
  replace: z.boolean().optional().describe('Replace the whole memory instead of adding to it'),
})

type Input = z.output<typeof input>

/** Keeps something for later sessions: they get the project's memory with their first request. */
export const updateMemory = defineTool({
  name: 'update_memory',
  description:
    'Remember something about this project for all later sessions: a fact, a command, a rule that the user gave. Not for notes about the work at hand.',
  input,
  effect: 'write',
  permission: (input, context) => editRequest(changeOf(input, context)),
  prepare: (input, context) => prepareChange('update_memory', changeOf(input, context)),
  run: (input, context, approved) => applyChange(changeOf(input, context), approved),
})

function changeOf(input: Input, context: ToolContext): ChangeRequest {
  const file = context.workspace.resolve(context.memoryFile ?? defaultFile)
  return {
    file,
    context,
    plan(before) {
      const text = input.replace ? replaced(input, before, file, context) : added(input, before)
      if (text.length > maxChars) throw tooLong(text.length, file)
      return {
        after: Buffer.from(text),
        summary: `Remembered in ${file.relative}; sessions that begin from now on know it.`,
      }
    },
  }
}

function added({ content }: Input, before: LoadedFile | undefined): string {
  const old = before?.bytes.toString('utf8').trimEnd() ?? ''
  const text = content.trim()
  if (`\n${old}\n`.includes(`\n${text}\n`)) {
    throw new RuntimeError(explained, 'The memory says that already; nothing was changed.')
  }
  return old === '' ? `${text}\n` : `${old}\n${text}\n`
}

/** Another session may have added something since this one began. */
function replaced(
  { content }: Input,
  before: LoadedFile | undefined,
  file: ResolvedPath,
  context: ToolContext,
): string {
  if (before && context.files[file.path] === undefined) {
    const remedy = `Read ${file.relative} with ${context.nameOf('read')} first, then send the whole new text.`
    throw new RuntimeError(
      'not-read',
      `The memory was not replaced: it may have changed since this session began. ${remedy}`,
    )
  }
  return `${content.trim()}\n`
}

function tooLong(length: number, file: ResolvedPath): RuntimeError {
  return new RuntimeError(
    'too-long',
    `The memory would have ${length} characters, at most ${maxChars} are kept; nothing was changed. Read ${file.relative}, drop what is old or known from the code, and send the shorter whole with replace.`,
  )
}
