import { RuntimeError } from '../core/errors.ts'
import type { HandedFile } from '../core/messages.ts'
import type { ToolContext } from './define-tool.ts'
import { defaultPageLines, windowOf } from './pagination.ts'
import { readRequest } from './read.ts'
import { clampLine } from './text.ts'
import { utf8Of } from './text-files.ts'
import type { ResolvedPath } from './workspace.ts'
import { maxHashedBytes } from './workspace-files.ts'

/** `notes`: files of a job that could not be handed over. */
export type LoadedContext = { files: HandedFile[]; notes: string[] }

const maxFiles = 200
const maxLineChars = 2000
const ofJob = /^job:\s*(.+)$/

/**
 * Loads what is to be handed to a child: files by their paths, and with `job:exp-1` those that this job knows. Reads what
 * this session may read, no more. Throws a `RuntimeError` for a path that cannot be handed over; of a job it is left out.
 */
export async function loadContext(entries: readonly string[], context: ToolContext): Promise<LoadedContext> {
  const files = new Map<string, HandedFile>()
  const notes: string[] = []
  for (const entry of entries) {
    const alias = ofJob.exec(entry.trim())?.[1]?.trim()
    if (alias === undefined) await addFile(files, entry, `handed over by the agent that sent you`, context)
    else notes.push(...(await addJob(files, alias, context)))
  }
  return { files: [...files.values()], notes }
}

async function addJob(files: Map<string, HandedFile>, alias: string, context: ToolContext): Promise<string[]> {
  const known = await context.services.filesOfChild(alias)
  if ('refused' in known) throw new RuntimeError('unknown-job', known.refused)
  const notes: string[] = []
  for (const path of known.paths) {
    if (files.size >= maxFiles) break
    try {
      await addFile(files, path, `read by ${alias}`, context)
    } catch (thrown) {
      if (!(thrown instanceof RuntimeError)) throw thrown
      notes.push(thrown.message)
    }
  }
  if (known.paths.length === 0) notes.push(`${alias} has read no files.`)
  return notes
}

async function addFile(
  files: Map<string, HandedFile>,
  path: string,
  origin: string,
  context: ToolContext,
): Promise<void> {
  const file = context.workspace.resolve(path)
  if (files.has(file.path)) return
  if (context.mayRead && !context.mayRead(readRequest(file))) {
    throw refusal(file, 'you have no permission to read it. Leave it out')
  }
  files.set(file.path, await loadFile(file, origin, context))
}

async function loadFile(file: ResolvedPath, origin: string, { workspace, signal }: ToolContext): Promise<HandedFile> {
  const stat = workspace.stat(file)
  if (!stat) throw workspace.notFound(file)
  if (stat.kind === 'folder') throw refusal(file, 'it is a folder. Name the files in it')
  if (stat.size > maxHashedBytes) throw refusal(file, 'it is too large. Say in the prompt which part to read')
  const { bytes, hash } = await workspace.load(file, signal)
  const text = utf8Of(bytes)
  if (!text) throw refusal(file, 'it is no text file. Leave it out')
  const { lines, total } = windowOf(text, 1, defaultPageLines)
  const shown = lines.map((line) => clampLine(line, maxLineChars))
  return { path: file.path, name: file.relative, origin, hash, lines: shown, of: total }
}

function refusal({ relative }: ResolvedPath, why: string): RuntimeError {
  return new RuntimeError('not-handed-over', `${relative} cannot be handed over: ${why}.`)
}
