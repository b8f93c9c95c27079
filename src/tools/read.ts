import * as z from 'zod'
import { RuntimeError } from '../core/errors.ts'
import type { PermissionRequest } from '../core/permission.ts'
import { defineTool, type ToolContext, type ToolOutput } from './define-tool.ts'
import { imageOutput } from './image-output.ts'
import { defaultPageLines, type LineWindow, pageOf, pastEnd, windowOf } from './pagination.ts'
import { fileHead, streamWindow } from './stream-window.ts'
import { count, oneLinePath } from './text.ts'
import { binaryKind, utf8Of } from './text-files.ts'
import { toolsets } from './toolsets.ts'
import type { ResolvedPath } from './workspace.ts'
import { type FileStat, listFolder, maxHashedBytes } from './workspace-files.ts'

/** Reads a window of one text file, lines numbered from 1, shows an image to a model that sees, or lists a folder. */
export const read = defineTool({
  name: 'read',
  description:
    'Read a text file, list a folder, or look at an image if you can see. Lines come numbered as `cat -n` does; the numbers are not part of the file. If there is more, go on with offset.',
  input: z.object({
    file_path: z.string().describe('File or folder, absolute or relative to the workspace'),
    offset: z.int().min(0).optional().describe('First line to return, from 1'),
    limit: z.int().min(1).optional().describe(`Lines to return; default ${defaultPageLines}`),
  }),
  effect: 'read',
  keep: 'head',
  permission: ({ file_path }, { workspace }) => readRequest(workspace.resolve(file_path)),

  async run({ file_path, offset = 1, limit = defaultPageLines }, context) {
    const file = context.workspace.resolve(file_path)
    const stat = context.workspace.stat(file)
    if (!stat) throw context.workspace.notFound(file)
    const wanted = { file, stat, offset: Math.max(1, offset), limit }
    return stat.kind === 'folder' ? listing(wanted, context) : fileWindow(wanted, context)
  },
})

/** What reading, listing or searching a path asks of the permissions. */
export function readRequest(file: ResolvedPath): PermissionRequest {
  return { key: 'read', pattern: file.relative, ...(file.outside && { outside: file.path }) }
}

type Wanted = { file: ResolvedPath; stat: FileStat; offset: number; limit: number }

function listing({ file, offset, limit }: Wanted, context: ToolContext): ToolOutput {
  const names = listFolder(file.path)?.map(oneLinePath)
  if (!names) throw new RuntimeError('not-accessible', `The system does not let this user list ${file.relative}.`)
  const title = `${file.relative}/`
  if (names.length === 0) return { title, output: `${file.relative} is an empty folder.` }
  if (offset > names.length)
    return { title, output: pastEnd(file.relative, names.length, offset, ['entry', 'entries']) }
  const lines = names.slice(offset - 1, offset - 1 + limit)
  const page = paged({ from: offset, lines, total: names.length, exact: true }, file, context, false)
  return {
    title,
    output: `${file.relative} is a folder with ${count(names.length, 'entry', 'entries')}:\n${page.text}`,
  }
}

async function fileWindow(wanted: Wanted, context: ToolContext): Promise<ToolOutput> {
  const { file, stat, offset } = wanted
  const title = file.relative
  const { window, hash, kind, bytes } = await loadWindow(wanted, context)
  if (!window) {
    const image = bytes && imageOutput({ label: file.relative, bytes, sees: context.sees ?? false })
    if (!image) return { title, output: `${file.relative} is ${kind} (${stat.size} bytes); only text can be read.` }
    return { title, ...image, ...(image.images && { touched: [{ path: file.path, kind: 'read', hash }] }) }
  }
  if (window.total === 0) {
    return { title, output: `${file.relative} is an empty file.`, touched: [{ path: file.path, kind: 'read', hash }] }
  }
  if (window.lines.length === 0) return { title, output: pastEnd(file.relative, window.total, offset) }
  const page = paged(window, file, context, true)
  const lines = { from: offset, to: page.to, of: window.total }
  return { title, output: page.text, touched: [{ path: file.path, kind: 'read', hash, lines }] }
}

async function loadWindow(
  { file, stat, offset, limit }: Wanted,
  { workspace, signal }: ToolContext,
): Promise<{ window: LineWindow | undefined; hash: string; kind: string; bytes?: Buffer }> {
  if (stat.size > maxHashedBytes) {
    const window = await streamWindow(file, { from: offset, limit, version: stat.version, signal })
    return { window, hash: stat.version, kind: window ? '' : binaryKind(fileHead(file)) }
  }
  const { bytes, hash } = await workspace.load(file, signal)
  const text = utf8Of(bytes)
  return { window: text && windowOf(text, offset, limit), hash, kind: binaryKind(bytes), bytes }
}

function paged(window: LineWindow, file: ResolvedPath, context: ToolContext, numbered: boolean) {
  const { maxChars = toolsets[context.toolset].maxChars } = context
  return pageOf({ window, label: file.relative, tool: context.nameOf('read'), maxChars, numbered })
}
