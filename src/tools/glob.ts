import * as z from 'zod'
import { defineTool } from './define-tool.ts'
import { readRequest } from './read.ts'
import { searchEngine } from './search/choose-engine.ts'
import { parsePathFilter } from './search/path-filter.ts'
import { searchPlace, shownPath } from './search/search-place.ts'
import { count } from './text.ts'
import { toolsets } from './toolsets.ts'

/** Finds files by the pattern of their path, newest first. */
export const glob = defineTool({
  name: 'glob',
  description:
    'Find files by a pattern of their path, newest first. Hidden files are included, what git ignores is not. A pattern without / matches at any depth.',
  input: z.object({
    pattern: z.string().describe('Such as *.ts or src/**/*.test.ts'),
    path: z.string().default('.').describe('Folder to search; default: the workspace'),
  }),
  effect: 'read',
  keep: 'head',
  permission: ({ path }, { workspace }) => readRequest(workspace.resolve(path)),

  async run({ pattern, path }, context) {
    const { place, only, at } = searchPlace(path, context)
    const filter = parsePathFilter(pattern, at.path)
    const { files, incomplete } = only === undefined ? await searchEngine().list(place, filter) : oneFile(only)
    const title = `${pattern} (${count(files.length, 'file')})`
    if (files.length === 0) return { title, output: `No files match ${pattern}.` }
    const shown = files.slice(0, toolsets[context.toolset].globFiles)
    const notes = [
      files.length > shown.length &&
        `[showing the newest ${shown.length} of ${files.length} files; use a narrower pattern or path]`,
      incomplete && '[the folder has too many files; not all were looked at]',
    ]
    const rows = shown.map((below) => shownPath({ place, below, context }))
    return { title, output: [...rows, ...notes.filter(Boolean)].join('\n') }
  },
})

function oneFile(name: string) {
  return { files: [name], incomplete: false }
}
