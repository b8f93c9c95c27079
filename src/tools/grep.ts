import { join } from 'node:path'
import * as z from 'zod'
import { defineTool, type ToolContext, type ToolOutput } from './define-tool.ts'
import { readRequest } from './read.ts'
import { searchEngine } from './search/choose-engine.ts'
import { everyPath, parsePathFilter } from './search/path-filter.ts'
import type { GrepResult, SearchPlace } from './search/search-engine.ts'
import { assertOneLine } from './search/search-pattern.ts'
import { searchPlace, shownPath } from './search/search-place.ts'
import { count } from './text.ts'
import { toolsets } from './toolsets.ts'

const input = z.object({
  pattern: z.string().min(1).describe('Regular expression; (?i) at its start ignores case'),
  path: z.string().default('.').describe('File or folder to search; default: the workspace'),
  include: z.string().optional().describe('Only files that match, such as *.ts or src/**/*.{js,jsx}'),
})

/** Searches file contents line by line, the newest file first. */
export const grep = defineTool({
  name: 'grep',
  description:
    'Search file contents, line by line, with a regular expression, newest file first. What git ignores and binary files are skipped. Gives path:line: text.',
  input,
  effect: 'read',
  keep: 'head',
  permission: ({ path }, { workspace }) => readRequest(workspace.resolve(path)),

  async run({ pattern, path, include }, context) {
    assertOneLine(pattern)
    const { place, only, at } = searchPlace(path, context)
    const filter = include === undefined || only !== undefined ? everyPath : parsePathFilter(include, at.path)
    const limit = toolsets[context.toolset].grepMatches
    const mayShow = (below: string) => mayRead(join(place.folder, below), context)
    const result = await searchEngine().grep(place, { pattern, filter, only, limit, mayShow })
    return outputOf(result, { pattern, include, place, context })
  },
})

type Asked = { pattern: string; include?: string; place: SearchPlace; context: ToolContext }

function outputOf(result: GrepResult, { pattern, include, place, context }: Asked): ToolOutput {
  const { grepMatches: limit, grepTrims } = toolsets[context.toolset]
  const rows = result.found.flatMap(({ below, matches }) => {
    const path = shownPath({ place, below, context })
    return matches.map(({ line, text }) => `${path}:${line}: ${grepTrims ? text.trim() : text}`)
  })
  const more = rows.length > limit
  const title = `${pattern} (${more ? `${limit}+ matches` : count(rows.length, 'match', 'matches')})`
  const notes = [
    rows.length === 0 && nothingFound(result, pattern, include),
    more && `[showing the first ${limit} matches; use a narrower pattern, path or include]`,
    result.hidden > 0 && `[matches in ${count(result.hidden, 'file')} not shown: reading there needs a permission]`,
    result.tooLarge > 0 && `[${count(result.tooLarge, 'file')} over 64 MB not searched]`,
    result.unreadable > 0 && `[${count(result.unreadable, 'file or folder', 'files or folders')} could not be read]`,
    result.incomplete && '[the folder has too many files; not all were searched]',
  ]
  return { title, output: [...rows.slice(0, limit), ...notes.filter(Boolean)].join('\n') }
}

function nothingFound({ searched = 0 }: GrepResult, pattern: string, include: string | undefined): string {
  if (include !== undefined && searched === 0) return `No files match ${include}.`
  return `No matches for ${pattern} in ${count(searched, 'file')}.`
}

function mayRead(path: string, { workspace, mayRead }: ToolContext): boolean {
  return mayRead === undefined || mayRead(readRequest(workspace.resolve(path)))
}
