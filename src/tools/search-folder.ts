import { join } from 'node:path'
import picomatch from 'picomatch'
import { RuntimeError } from '../core/errors.ts'
import type { ToolContext } from './define-tool.ts'
import { type DatedFile, newestFirst, walkFiles } from './walk-files.ts'
import type { ResolvedPath } from './workspace.ts'

/** Files of a search, newest first, with the paths under which the model opens them. */
export type Found = { files: (DatedFile & { shown: string })[]; incomplete: boolean }

/** The files below a folder (or the one file) whose path matches `glob`; without one, all. */
export async function searchFolder(
  at: ResolvedPath,
  glob: string | undefined,
  { workspace, signal }: ToolContext,
): Promise<Found> {
  const stat = workspace.stat(at)
  if (!stat) throw workspace.notFound(at)
  if (stat.kind === 'file') {
    return { files: [{ path: at.path, below: '', ...stat, shown: at.relative }], incomplete: false }
  }
  const matches = glob === undefined ? () => true : matcherOf(glob, at.path)
  const { files, incomplete } = await walkFiles(at.path, { workspace: workspace.dir, signal })
  const dated = await newestFirst(
    files.filter(({ below }) => matches(below)),
    signal,
  )
  return { files: dated.map((file) => ({ ...file, shown: shownPath(at, file.below) })), incomplete }
}

/** A name that could be taken for two lines is shown as a JSON string. */
function shownPath(at: ResolvedPath, below: string): string {
  const path = at.relative === '.' ? below : join(at.relative, below)
  return /[\x00-\x1f]/.test(path) ? JSON.stringify(path) : path
}

/** A pattern without `/` matches names at any depth, as in ripgrep and .gitignore. */
function matcherOf(glob: string, root: string): (below: string) => boolean {
  const pattern = relativePattern(glob.trim(), root)
  if (pattern === '') throw new RuntimeError('bad-pattern', 'The pattern is empty. Give one such as **/*.ts.')
  if (/(^|[/{,])\.\.\//.test(pattern) || pattern.startsWith('/')) {
    throw new RuntimeError(
      'bad-pattern',
      `The pattern ${glob} leads out of the folder searched. Set path to that folder.`,
    )
  }
  return picomatch(pattern.includes('/') ? pattern : `**/${pattern}`, { dot: true })
}

function relativePattern(glob: string, root: string): string {
  if (glob.startsWith(`${root}/`)) return glob.slice(root.length + 1)
  return glob.replace(/^(\.\/)+/, '')
}
