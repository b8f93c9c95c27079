import { closeSync, openSync, readFileSync } from 'node:fs'
import * as z from 'zod'
import { defineTool, type ToolContext } from './define-tool.ts'
import { createPace } from './pace.ts'
import { readRequest } from './read.ts'
import { type Found, searchFolder } from './search-folder.ts'
import { type LineMatch, parseSearchPattern, runBounded, type SearchPattern } from './search-pattern.ts'
import { count } from './text.ts'
import { utf8Of } from './text-files.ts'
import { toolsets } from './toolsets.ts'
import { openFlags } from './workspace-files.ts'

const maxFileBytes = 64 * 1024 * 1024
const batchBytes = 4 * 1024 * 1024
const batchFiles = 200
const maxBatchMs = 3000

/** Searches file contents line by line, the newest file first. */
export const grep = defineTool({
  name: 'grep',
  description:
    'Search file contents, line by line, with a regular expression (JavaScript syntax), newest file first. What git ignores and binary files are skipped. Gives path:line: text.',
  input: z.object({
    pattern: z.string().min(1).describe('Regular expression; (?i) at its start ignores case'),
    path: z.string().default('.').describe('File or folder to search; default: the workspace'),
    include: z.string().optional().describe('Only files that match, such as *.ts or src/**/*.{js,jsx}'),
  }),
  effect: 'read',
  keep: 'head',
  permission: ({ path }, { workspace }) => readRequest(workspace.resolve(path)),

  async run({ pattern, path, include }, context) {
    const matcher = parseSearchPattern(pattern)
    const found = await searchFolder(context.workspace.resolve(path), include, context)
    const limit = toolsets[context.toolset].grepMatches
    const { rows, hidden, tooLarge } = await searchFiles(found, { matcher, limit, context })
    const title = `${pattern} (${rows.length > limit ? `${limit}+ matches` : count(rows.length, 'match', 'matches')})`
    const notes = [
      rows.length === 0 && `No matches for ${pattern} in ${count(found.files.length, 'file')}.`,
      rows.length > limit && `[showing the first ${limit} matches; use a narrower pattern, path or include]`,
      hidden > 0 && `[matches in ${count(hidden, 'file')} not shown: reading there needs a permission]`,
      tooLarge > 0 && `[${count(tooLarge, 'file')} over 64 MB not searched]`,
      found.incomplete && '[the folder has too many files; not all were searched]',
    ]
    return { title, output: [...rows.slice(0, limit), ...notes.filter(Boolean)].join('\n') }
  },
})

type Search = { matcher: SearchPattern; limit: number; context: ToolContext }

type Candidate = { file: Found['files'][number]; text: Buffer }

/** One row more than the limit when there are more matches. */
async function searchFiles({ files }: Found, { matcher, limit, context }: Search) {
  const pace = createPace(context.signal)
  const rows: string[] = []
  let hidden = 0
  let tooLarge = 0
  for (let next = 0; next < files.length && rows.length <= limit; ) {
    const batch: Candidate[] = []
    for (let bytes = 0; next < files.length && bytes < batchBytes && batch.length < batchFiles; next++) {
      await pace.breathe()
      const file = files[next]!
      if (file.size > maxFileBytes) tooLarge++
      else {
        const text = candidateText(file.path, matcher)
        if (text) batch.push({ file, text })
        bytes += text?.length ?? 0
      }
    }
    for (const { file, matches } of searchBatch(batch, matcher, limit + 1)) {
      if (mayShow(file.path, context)) rows.push(...matches.map(({ line, text }) => `${file.shown}:${line}: ${text}`))
      else hidden++
    }
  }
  return { rows, hidden, tooLarge }
}

/** `undefined` when the file is binary, cannot be read or certainly holds no match. */
function candidateText(path: string, matcher: SearchPattern): Buffer | undefined {
  try {
    const fd = openSync(path, openFlags)
    try {
      const text = utf8Of(readFileSync(fd))
      return text && matcher.mayMatch(text) ? text : undefined
    } finally {
      closeSync(fd)
    }
  } catch {
    return undefined // Gone meanwhile, or not ours to read: the rest is still worth searching.
  }
}

function searchBatch(batch: Candidate[], matcher: SearchPattern, limit: number) {
  if (batch.length === 0) return []
  const found: { file: Candidate['file']; matches: LineMatch[] }[] = []
  runBounded(() => {
    for (const { file, text } of batch) {
      const matches = matcher.search(text.toString('utf8'), limit)
      if (matches.length > 0) found.push({ file, matches })
    }
  }, maxBatchMs)
  return found
}

function mayShow(path: string, { workspace, mayRead }: ToolContext): boolean {
  return mayRead === undefined || mayRead(readRequest(workspace.resolve(path)))
}
