import { basename, dirname, join } from 'node:path'
import type { ToolContext } from '../define-tool.ts'
import { oneLinePath } from '../text.ts'
import type { ResolvedPath } from '../workspace.ts'
import type { SearchPlace } from './search-engine.ts'

/** Where a search goes; `only`: to one file of the folder. */
export type Wanted = { at: ResolvedPath; place: SearchPlace; only?: string }

/** Throws `not-found` with near names, `not-a-file` for what must not be opened. */
export function searchPlace(path: string, { workspace, signal }: ToolContext): Wanted {
  const at = workspace.resolve(path)
  const stat = workspace.stat(at)
  if (!stat) throw workspace.notFound(at)
  const place = { workspace: workspace.dir, signal }
  if (stat.kind === 'folder') return { at, place: { ...place, folder: at.path } }
  return { at, place: { ...place, folder: dirname(at.path) }, only: basename(at.path) }
}

/** A file as the model opens it; a name that could be taken for two lines is shown as a JSON string. */
export function shownPath({
  place,
  below,
  context,
}: {
  place: SearchPlace
  below: string
  context: ToolContext
}): string {
  return oneLinePath(context.workspace.resolve(join(place.folder, below)).relative)
}
