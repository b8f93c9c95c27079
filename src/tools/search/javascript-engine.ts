import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isUtf16, utf8Of } from '../text-files.ts'
import { openFlags, platformError } from '../workspace-files.ts'
import { createPace } from './pace.ts'
import type { FileMatches, GrepRequest, GrepResult, SearchEngine, SearchPlace } from './search-engine.ts'
import { parseSearchPattern, runBounded, type SearchPattern } from './search-pattern.ts'
import { type DatedFile, newestFirst, walkFiles } from './walk-files.ts'

const maxFileBytes = 64 * 1024 * 1024
/** Searched at one go, some 5 ms: other sessions live on the same thread. */
const batchBytes = 256 * 1024
const batchFiles = 200
/** Only a pattern that backtracks without end takes so long, and then the thread must not be taken for blocked. */
const maxBatchMs = 500

/** Searches without another program: for where ripgrep has no binary. */
export const javascriptEngine: SearchEngine = {
  async list(place, filter) {
    const { files, incomplete } = await walkFiles(place.folder, place)
    const wanted = files.filter(({ below }) => filter.matches(below))
    const dated = await newestFirst(wanted, place.signal)
    return { files: dated.map(({ below }) => below), incomplete }
  },

  async grep(place, request) {
    const matcher = parseSearchPattern(request.pattern)
    const { files, incomplete, unreadable } = await candidates(place, request)
    const result = { found: [], hidden: 0, tooLarge: 0, unreadable, incomplete }
    await searchFiles(files, { place, request, matcher, result })
    return result.found.length === 0 ? { ...result, searched: files.length } : result
  },
}

async function candidates({ folder, workspace, signal }: SearchPlace, { only, filter }: GrepRequest) {
  if (only !== undefined) {
    const { size, mtimeMs } = statSync(join(folder, only))
    const file = { path: join(folder, only), below: only, size, mtimeMs }
    return { files: [file], incomplete: false, unreadable: 0 }
  }
  const walk = await walkFiles(folder, { workspace, signal })
  const wanted = walk.files.filter(({ below }) => filter.matches(below))
  return { ...walk, files: await newestFirst(wanted, signal) }
}

type Search = { place: SearchPlace; request: GrepRequest; matcher: SearchPattern; result: GrepResult }

/** A part of a file that ends with a line; `line` lines come before it. */
type Piece = { below: string; text: Buffer; line: number }

/** Ends as soon as there is one line more than wanted. */
async function searchFiles(files: DatedFile[], { place, request, matcher, result }: Search): Promise<void> {
  const pace = createPace(place.signal)
  const { limit, mayShow } = request
  let batch: Piece[] = []
  let bytes = 0
  let lines = 0
  let last: FileMatches | undefined

  function searchBatch(): void {
    for (const found of matchesOf(batch, matcher, limit + 1)) {
      const isSame = last?.below === found.below
      const isShown = mayShow(found.below)
      if (isSame) last?.matches.push(...found.matches)
      else if (isShown) result.found.push(found)
      else result.hidden++
      if (!isSame) last = found
      lines += isShown ? found.matches.length : 0
    }
    batch = []
    bytes = 0
  }

  for (const file of files) {
    for (const piece of piecesOf(file, candidateText(file, matcher, result))) {
      batch.push(piece)
      bytes += piece.text.length
      if (bytes >= batchBytes || batch.length >= batchFiles) searchBatch()
      if (lines > limit) return
      await pace.breathe()
    }
    await pace.breathe()
  }
  searchBatch()
}

/** Cut at line ends, so that each is searched quickly; a line is never cut. */
function* piecesOf({ below }: DatedFile, text: Buffer | undefined): Iterable<Piece> {
  let line = 0
  for (let start = 0; text && start < text.length; ) {
    const feed = text.indexOf(0x0a, Math.min(start + batchBytes, text.length) - 1)
    const end = feed < 0 ? text.length : feed + 1
    const piece = text.subarray(start, end)
    yield { below, text: piece, line }
    if (end < text.length) line += newlinesIn(piece)
    start = end
  }
}

function newlinesIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) count++
  return count
}

/** `undefined` when the file is binary, too large, cannot be read or certainly holds no match. */
function candidateText(file: DatedFile, matcher: SearchPattern, result: GrepResult): Buffer | undefined {
  if (file.size > maxFileBytes) result.tooLarge++
  if (file.size > maxFileBytes) return undefined
  try {
    const text = textOf(readFileNow(file.path))
    return text && matcher.mayMatch(text) ? text : undefined
  } catch (error) {
    if (platformError(error) !== 'ENOENT') result.unreadable++
    return undefined // Gone meanwhile, or not ours to read: the rest is still worth searching.
  }
}

function readFileNow(path: string): Buffer {
  const fd = openSync(path, openFlags)
  try {
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Here, as in ripgrep, a NUL anywhere makes a file binary, and nothing else does. */
function textOf(bytes: Buffer): Buffer | undefined {
  if (isUtf16(bytes)) return utf8Of(bytes)
  if (bytes.includes(0)) return undefined
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return isMarked ? bytes.subarray(3) : bytes
}

function matchesOf(batch: Piece[], matcher: SearchPattern, limit: number): FileMatches[] {
  if (batch.length === 0) return []
  const found: FileMatches[] = []
  runBounded(() => {
    for (const { below, text, line } of batch) {
      const matches = matcher
        .search(text.toString('utf8'), limit)
        .map((match) => ({ ...match, line: match.line + line }))
      if (matches.length > 0) found.push({ below, matches })
    }
  }, maxBatchMs)
  return found
}
