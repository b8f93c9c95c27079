import * as z from 'zod'
import { RuntimeError, unreachable } from '../core/errors.ts'
import { applyChange, type ChangeRequest, editRequest, type PlannedChange, prepareChange } from './change-file.ts'
import { defineTool, type ToolContext } from './define-tool.ts'
import { explainDisproportion, explainMiss, explainSeveral } from './edit/explain-miss.ts'
import type { Strategy } from './edit/find-match.ts'
import { lineAt } from './edit/find-spans.ts'
import { type NotReplaced, replaceText } from './edit/replace-text.ts'
import { explained } from './explained.ts'
import { readRequest } from './read.ts'
import { count } from './text.ts'
import { assertWholeCharacters, codingOf } from './text-coding.ts'
import { utf8Of } from './text-files.ts'
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

/** Replaces a text at its one place, or at all of them; every byte outside of it stays as it is. */
export const edit = defineTool({
  name: 'edit',
  description:
    'Replace text in a file. Read the file first and copy old_string exactly, indentation included, line numbers not. It must occur once, unless replace_all is set.',
  input,
  effect: 'write',
  permission: async (input, context) => editRequest(changeOf(input, context)),
  prepare: async (input, context) => prepareChange('edit', changeOf(input, context)),
  run: async (input, context, approved) => applyChange(changeOf(input, context), approved),
})

function changeOf(input: Input, context: ToolContext): ChangeRequest {
  if (input.old_string === input.new_string) {
    throw new RuntimeError('no-change', 'old_string and new_string are the same: there is nothing to change.')
  }
  assertWholeCharacters({ old_string: input.old_string, new_string: input.new_string })
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

function replacement(
  input: Input,
  file: ResolvedPath,
  before: LoadedFile | undefined,
  context: ToolContext,
): PlannedChange {
  if (!before) throw context.workspace.notFound(file)
  if (context.judge?.(readRequest(file)) === 'deny') throw unreadable(file)
  const coding = codingOf(before.bytes)
  const content = coding.decode(before.bytes)
  const wanted = coding.ofText(input.old_string)
  if (wanted === '') throw onlyMark(file)
  const replaced = replaceText({
    content,
    wanted,
    replacement: coding.ofText(input.new_string),
    all: input.replace_all,
    exactOnly: toolsets[context.toolset].editIsExact,
  })
  if ('problem' in replaced) throw refusal(replaced, { input, before, file, content, context })
  const { text, strategy, spans } = replaced
  if (text === content) throw noChange(file)
  const where =
    spans.length === 1 ? `at line ${lineAt(content, spans[0]!.start)}` : `in ${count(spans.length, 'place')}`
  const loosely = strategy === 'Simple' ? '' : `, where the text was found but for its ${looseness[strategy]}`
  return { after: coding.encode(text), summary: `Edited ${file.relative} ${where}${loosely}.`, metadata: { strategy } }
}

function onlyMark(file: ResolvedPath): RuntimeError {
  const message = `old_string is nothing but the byte order mark of ${file.relative}, which stays; nothing was changed. Give text of the file.`
  return new RuntimeError('empty-old-string', message)
}

/** Line breaks and indentation are the file's own: a change of these alone is none. */
function noChange(file: ResolvedPath): RuntimeError {
  const message = `${file.relative} says that already: with its own line breaks and indentation new_string is what stands there. Nothing was changed.`
  return new RuntimeError('no-change', message)
}

/** To find a text, or to say where it is not, tells what is in the file. */
function unreadable({ relative }: ResolvedPath): RuntimeError {
  const message = `The rules deny reading ${relative}, so no text is looked for in it; nothing was changed.`
  return new RuntimeError('denied', message)
}

const looseness: Readonly<Record<Exclude<Strategy, 'Simple'>, string>> = {
  LineTrimmed: 'indentation',
  BlockAnchor: 'middle lines, which are similar',
  WhitespaceNormalized: 'blanks',
  EscapeNormalized: 'escapes',
  TrimmedBoundary: 'blanks at either end',
  ContextAware: 'middle lines, of which some differ',
}

type Refused = { input: Input; before: LoadedFile; file: ResolvedPath; content: string; context: ToolContext }

function refusal(problem: NotReplaced, { input, before, file, content, context }: Refused): RuntimeError {
  const code = toolsets[context.toolset].editMissIsError ? 'no-single-match' : explained
  const label = file.relative
  switch (problem.problem) {
    case 'not-found':
      return new RuntimeError(
        code,
        explainMiss(label, utf8Of(before.bytes)?.toString('utf8') ?? content, input.old_string, context.nameOf('read')),
      )
    case 'multiple':
      return new RuntimeError(code, explainSeveral(label, content, problem.spans))
    case 'disproportionate':
      return new RuntimeError(code, explainDisproportion(label, content, problem.span))
    default:
      return unreachable(problem)
  }
}
