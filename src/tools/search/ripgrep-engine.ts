import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RuntimeError } from '../../core/errors.ts'
import { loadIgnoreRules, repositoryTop } from './ignore-rules.ts'
import { javascriptEngine } from './javascript-engine.ts'
import { everyPath, type PathFilter } from './path-filter.ts'
import { createLineCollector } from './ripgrep-lines.ts'
import { type RipgrepEnd, runRipgrep } from './ripgrep-process.ts'
import type { FileList, FileMatches, GrepRequest, GrepResult, SearchEngine, SearchPlace } from './search-engine.ts'
import { newestFirst } from './walk-files.ts'

const maxFiles = 300_000
const redated = 200

/** What is searched is what git would take in: no configuration, no ignore files of other programs, no links. */
const base = [
  '--no-config',
  '--hidden',
  '--glob=!.git',
  '--glob=!.troupe-*.tmp',
  '--no-ignore-dot',
  '--no-ignore-global',
]

/** Searches by the ripgrep at `program`. Throws `ripgrep-unavailable` when it does not run here. */
export function createRipgrepEngine(program: string): SearchEngine {
  return {
    async list(place, filter) {
      const scope = scopeOf(place)
      return scope === undefined ? javascriptEngine.list(place, filter) : list({ program, scope }, place, filter)
    },

    async grep(place, request) {
      const scope = scopeOf(place)
      if (scope === undefined) return javascriptEngine.grep(place, request)
      return grep({ program, scope }, place, request).catch((error: unknown) => {
        if (error instanceof NotUnderstood) return javascriptEngine.grep(place, request)
        throw error
      })
    },
  }
}

type Ripgrep = { program: string; scope: string[] }

async function list({ program, scope }: Ripgrep, place: SearchPlace, filter: PathFilter): Promise<FileList> {
  const args = [...base, ...scope, ...typeOf(filter), '--files', '--null', '--sortr=modified', '--', './']
  const { paths, incomplete } = await listPaths(program, args, place)
  const wanted = paths.filter((below) => filter.matches(below))
  // What ripgrep leaves to chance is the order of equal times; of these files, more than anybody is shown, we decide it.
  const first = await newestOf(wanted.slice(0, redated), place)
  return { files: [...first, ...wanted.slice(redated)], incomplete }
}

async function grep(ripgrep: Ripgrep, place: SearchPlace, request: GrepRequest): Promise<GrepResult> {
  const few = request.only === undefined ? await fewMatches(ripgrep, place, request) : undefined
  if (few !== undefined) return few
  const listed = request.only === undefined ? await filesWithMatches(ripgrep, place, request) : only(request.only)
  const shown = listed.files.filter((below) => request.mayShow(below))
  const { found, unreadable } = await linesOf(ripgrep, shown.slice(0, request.limit + 1), place, request)
  const { filter } = request
  // ripgrep has counted the files of that name, wherever they are.
  const searched = filter === everyPath ? async () => listed.searched : () => countOf(ripgrep, place, filter)
  return {
    found,
    ...(found.length === 0 && { searched: await searched() }),
    hidden: listed.files.length - shown.length,
    tooLarge: 0,
    unreadable: listed.unreadable + unreadable,
    incomplete: listed.incomplete,
  }
}

/** A pattern that matches no more than this many lines is searched for in one run. */
const fewLines = 500
const fewBytes = 8 * 1024 * 1024

/** Everything in one run, for the usual case that this is little; `undefined`: it is more. */
async function fewMatches(ripgrep: Ripgrep, place: SearchPlace, request: GrepRequest): Promise<GrepResult | undefined> {
  const { program, scope } = ripgrep
  const { pattern, filter, limit } = request
  const flags = [...base, ...scope, ...typeOf(filter), ...matching(pattern)]
  const args = [...flags, '--json', `--max-count=${limit + 1}`, '--', './']
  const collector = createLineCollector()
  let bytes = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    collector.write(chunk)
    return collector.lines() <= fewLines && bytes <= fewBytes
  }
  const end = await run({ program, args, cwd: place.folder, signal: place.signal, onData })
  if (collector.lines() > fewLines || bytes > fewBytes) return undefined
  if (collector.files.size === 0) assertUnderstood(end)
  const files = await newestOf(
    [...collector.files.keys()].map(withoutDot).filter((below) => filter.matches(below)),
    place,
  )
  const shown = files.filter((below) => request.mayShow(below))
  const found = linesFrom(collector, shown, limit)
  const searched = filter === everyPath ? async () => collector.searched() : () => countOf(ripgrep, place, filter)
  return {
    found,
    ...(found.length === 0 && { searched: await searched() }),
    hidden: files.length - shown.length,
    tooLarge: 0,
    unreadable: complaintsOf(end).length,
    incomplete: false,
  }
}

/** The lines of these files, in their order, up to one more than wanted. */
function linesFrom(collector: ReturnType<typeof createLineCollector>, files: string[], limit: number): FileMatches[] {
  const found: FileMatches[] = []
  let lines = 0
  for (const below of files) {
    const file = collector.files.get(`./${below}`)
    if (!file || lines > limit) continue
    found.push({ below, matches: file.matches })
    lines += file.matches.length
  }
  return found
}

async function countOf(ripgrep: Ripgrep, place: SearchPlace, filter: PathFilter): Promise<number> {
  return (await list(ripgrep, place, filter)).files.length
}

function matching(pattern: string): string[] {
  return ['--crlf', `--regexp=${pattern}`]
}

/**
 * Flags by which ripgrep takes the same ignore files as git does; `undefined` where it cannot: outside of a repository it
 * would go on with those above the workspace.
 */
function scopeOf({ folder, workspace }: SearchPlace): string[] | undefined {
  const withoutParents = ['--no-require-git', '--no-ignore-parent']
  const { isIgnored } = loadIgnoreRules(folder, workspace)
  if (isIgnored) return withoutParents
  if (repositoryTop(folder) !== undefined) return []
  if (!folder.startsWith(`${workspace}/`)) return withoutParents
  return hasIgnoreFileAbove(workspace) ? undefined : ['--no-require-git']
}

function hasIgnoreFileAbove(folder: string): boolean {
  const parent = dirname(folder)
  return parent !== folder && (existsSync(join(parent, '.gitignore')) || hasIgnoreFileAbove(parent))
}

/** A glob would outrank the ignore files, a type does not. It only spares work: the filter has the last word. */
function typeOf({ name }: PathFilter): string[] {
  return name === undefined ? [] : [`--type-add=wanted:${name}`, '--type=wanted']
}

type Listed = Pick<GrepResult, 'unreadable' | 'incomplete'> & { searched: number; files: string[] }

function only(name: string): Listed {
  return { files: [name], searched: 1, unreadable: 0, incomplete: false }
}

/** Newest first. ripgrep stops at the first match of each file, so this costs no more than a search that finds nothing. */
async function filesWithMatches(
  { program, scope }: Ripgrep,
  place: SearchPlace,
  { pattern, filter }: GrepRequest,
): Promise<Listed> {
  const args = [...base, ...scope, ...typeOf(filter), ...matching(pattern)]
  const listing = ['--files-with-matches', '--null', '--stats', '--', './']
  const { paths, rest, end, incomplete } = await listPaths(program, [...args, ...listing], place)
  if (paths.length === 0) assertUnderstood(end)
  const files = await newestOf(
    paths.filter((below) => filter.matches(below)),
    place,
  )
  const searched = Number(/(\d+) files searched/.exec(rest)?.[1] ?? paths.length)
  return { files, searched, unreadable: complaintsOf(end).length, incomplete }
}

async function newestOf(paths: string[], { folder, signal }: SearchPlace): Promise<string[]> {
  const dated = await newestFirst(
    paths.map((below) => ({ below, path: `${folder}/${below}` })),
    signal,
  )
  return dated.map(({ below }) => below)
}

/** The lines of these files, in their order, one more than wanted when there are more. */
async function linesOf(
  { program }: Ripgrep,
  files: string[],
  { folder, signal }: SearchPlace,
  { pattern, limit }: GrepRequest,
): Promise<{ found: FileMatches[]; unreadable: number }> {
  if (files.length === 0) return { found: [], unreadable: 0 }
  const paths = files.map((below) => `./${below}`)
  const bounds = ['--threads=1', `--max-count=${limit + 1}`]
  const args = ['--no-config', '--json', ...bounds, ...matching(pattern), '--', ...paths]
  const collector = createLineCollector()
  const onData = (chunk: Buffer) => {
    collector.write(chunk)
    return collector.lines() <= limit
  }
  const end = await run({ program, args, cwd: folder, signal, onData })
  const found = linesFrom(collector, files, limit)
  if (found.length === 0) assertUnderstood(end)
  return { found, unreadable: complaintsOf(end).length }
}

const maxListBytes = 64 * 1024 * 1024

/** What it names, ended by NULs, without the `./` that all of them begin with; `rest` is what comes behind the last. */
async function listPaths(program: string, args: string[], { folder, signal }: SearchPlace) {
  const chunks: Buffer[] = []
  let bytes = 0
  const onData = (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    return bytes < maxListBytes
  }
  const end = await run({ program, args, cwd: folder, signal, onData })
  const names = Buffer.concat(chunks).toString('utf8').split('\0')
  const rest = names.pop()!
  const paths = names.slice(0, maxFiles).map(withoutDot)
  return { paths, rest, end, incomplete: names.length > maxFiles || bytes >= maxListBytes }
}

function withoutDot(path: string): string {
  return path.startsWith('./') ? path.slice(2) : path
}

async function run(request: Parameters<typeof runRipgrep>[0]): Promise<RipgrepEnd> {
  const end = await runRipgrep(request)
  // The shell's words for a program that is not there, or is none for this machine.
  if (end.exitCode !== 126 && end.exitCode !== 127) return end
  throw new RuntimeError('ripgrep-unavailable', `ripgrep does not run here: ${end.complaints.trim()}`)
}

/** What could not be read, one line each. */
function complaintsOf({ complaints }: RipgrepEnd): string[] {
  return complaints.split('\n').filter((line) => line.startsWith('rg: ') && !line.startsWith('rg: regex'))
}

/** It did not understand the pattern, for look-around or a brace that stands for itself. */
class NotUnderstood extends Error {}

function assertUnderstood({ exitCode, complaints }: RipgrepEnd): void {
  if (exitCode === 2 && /^(rg: )?(regex|the literal)/m.test(complaints)) throw new NotUnderstood()
}
