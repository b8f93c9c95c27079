import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { messageOf, RuntimeError } from '../core/errors.ts'
import type { Worktree } from '../core/records.ts'
import { type GitOptions, type GitOutcome, git, runGit } from './git.ts'

/** Where the parent works: its folder's top, and the git folder where that is known. */
export type ParentPlace = { dir: string; worktree?: Worktree }

/** What a child left in its worktree. */
export type WorktreeWork = {
  /** For the parent's model. */
  note: string
  /** All of it is on the branch, and nothing else is in the folder. */
  clean: boolean
  /** The branch has something that the parent's has not. */
  ahead: boolean
}

const shownFiles = 20

/**
 * Commits what is uncommitted to the worktree's branch and tells what the branch has: never throws anything away, never
 * merges. Rejects never.
 */
export async function sealWorktree(worktree: Worktree, parent: ParentPlace, title: string): Promise<WorktreeWork> {
  try {
    const problem = await commitAll(worktree, title)
    if (problem !== undefined)
      return { note: kept(worktree, `Not all of its work could be committed (${problem}).`), clean: false, ahead: true }
    return await describe(worktree, parent)
  } catch (thrown) {
    return { note: kept(worktree, messageOf(thrown)), clean: false, ahead: true }
  }
}

/** Says where a worktree is that stays. */
export function kept({ dir, branch }: Worktree, why: string): string {
  return `[worktree] ${why} The worktree is kept in ${dir}, on branch ${branch}.`
}

/**
 * git's own folder of a worktree, looked up in the repository: the file `.git` in the worktree is the agent's to change.
 * Throws `no-worktree` when git knows of none there.
 */
export function gitDirOf({ repo, dir }: Pick<Worktree, 'repo' | 'dir'>): string {
  const all = join(repo, 'worktrees')
  for (const name of existsSync(all) ? readdirSync(all) : []) {
    const pointer = join(all, name, 'gitdir')
    if (existsSync(pointer) && readFileSync(pointer, 'utf8').trim() === join(dir, '.git')) return join(all, name)
  }
  throw new RuntimeError('no-worktree', `git knows of no worktree in ${dir}.`)
}

function inWorktree(worktree: Worktree): { place: string[]; at: GitOptions } {
  return {
    place: [`--git-dir=${gitDirOf(worktree)}`, `--work-tree=${worktree.dir}`],
    at: { cwd: worktree.dir, workspace: dirname(worktree.repo) },
  }
}

/** Returns what stood in the way, in words. */
async function commitAll(worktree: Worktree, title: string): Promise<string | undefined> {
  const { place, at } = inWorktree(worktree)
  if (!(await isDirty(worktree))) return undefined
  const commit = [...(await author(place, at)), 'commit', '-q', '--no-verify', '-m', title]
  const outcome = await tryTwice(worktree, async () => {
    const added = await runGit([...place, 'add', '-A', '--', '.'], at)
    return added.code === 0 ? runGit([...place, ...commit], at) : added
  })
  if (outcome.code === 0) return undefined
  return outcome.stderr.trim().split('\n')[0] || `git ended with ${outcome.code}`
}

/** A command that was killed may have left its lock behind; nothing of this session runs any more. */
async function tryTwice(worktree: Worktree, work: () => Promise<GitOutcome>): Promise<GitOutcome> {
  const first = await work()
  if (first.code === 0 || !first.stderr.includes('index.lock')) return first
  rmSync(join(gitDirOf(worktree), 'index.lock'), { force: true })
  return work()
}

/** Whoever git knows; a machine without a name for its user still gets its commit. */
async function author(place: string[], at: GitOptions): Promise<string[]> {
  const { stdout } = await runGit([...place, 'config', 'user.email'], at)
  return stdout.trim() === '' ? ['-c', 'user.name=Troupe', '-c', 'user.email=troupe@localhost'] : []
}

async function isDirty(worktree: Worktree): Promise<boolean> {
  const { place, at } = inWorktree(worktree)
  return (await git([...place, 'status', '--porcelain', '--untracked-files=all'], at)) !== ''
}

async function describe(worktree: Worktree, parent: ParentPlace): Promise<WorktreeWork> {
  const { place, at } = inWorktree(worktree)
  const on = (await runGit([...place, 'symbolic-ref', '-q', '--short', 'HEAD'], at)).stdout.trim()
  if (on !== worktree.branch) {
    const why = `It ended on ${on === '' ? 'no branch' : `the branch ${on}`}, not on its own.`
    return { note: kept(worktree, why), clean: false, ahead: true }
  }
  const tip = (await git([...place, 'rev-parse', 'HEAD'], at)).trim()
  const head = await headOf(parent)
  const from = await forkOf(worktree, tip, head)
  const summary = (await git([...place, 'diff', ...plainDiff, '--shortstat', from, tip], at)).trim()
  const clean = !(await isDirty(worktree))
  if (summary === '') {
    const ahead = (await git([...place, 'rev-list', '--count', `${from}..${tip}`], at)).trim() !== '0'
    return { note: `[worktree] It changed no files${ahead ? ` on branch ${worktree.branch}` : ''}.`, clean, ahead }
  }
  const files = changedFiles(await git([...place, 'diff', ...plainDiff, '--name-status', '-z', from, tip], at))
  const merge = await mergeText(worktree, parent, { tip, head, files })
  const more = files.length > shownFiles ? [`and ${files.length - shownFiles} more`] : []
  const note = [
    `[worktree] Its work is on branch ${worktree.branch}: ${summary}`,
    ...files.slice(0, shownFiles).map(({ status, path }) => `${status} ${shown(path)}`),
    ...more,
    `${merge} Nothing has been merged; to take it over: git merge ${worktree.branch}`,
  ].join('\n')
  return { note, clean, ahead: true }
}

type ChangedFile = { status: string; path: string }

/** Of `--name-status -z`: without it git quotes every name that is not ASCII. */
function changedFiles(output: string): ChangedFile[] {
  const parts = output.split('\0')
  return parts.flatMap((status, n) => (n % 2 === 0 && status !== '' ? [{ status, path: parts[n + 1] ?? '' }] : []))
}

/** A name on one line. */
function shown(path: string): string {
  return path.replace(/[\p{Cc}\p{Cf}]/gu, ' ')
}

const plainDiff = ['--no-ext-diff', '--no-textconv', '--no-renames']

/** A parent may itself work in a worktree. */
function placeOf({ worktree }: ParentPlace): string[] {
  return worktree ? inWorktree(worktree).place : []
}

async function headOf(parent: ParentPlace): Promise<string | undefined> {
  const { code, stdout } = await runGit([...placeOf(parent), 'rev-parse', '-q', '--verify', 'HEAD^{commit}'], {
    cwd: parent.dir,
  })
  return code === 0 ? stdout.trim() : undefined
}

/** Where the branch and the parent's parted: what has been merged since is no news. */
async function forkOf(worktree: Worktree, tip: string, head: string | undefined): Promise<string> {
  if (head === undefined) return worktree.base
  const { place, at } = inWorktree(worktree)
  const { code, stdout } = await runGit([...place, 'merge-base', head, tip], at)
  return code === 0 ? stdout.trim() : worktree.base
}

type Merge = { tip: string; head: string | undefined; files: ChangedFile[] }

/** Whether the branch would merge with the parent's folder as it is now, uncommitted changes included. Changes nothing. */
async function mergeText(worktree: Worktree, parent: ParentPlace, { tip, head, files }: Merge): Promise<string> {
  const unknown = 'Whether it merges with your folder could not be tried.'
  if (head === undefined) return unknown
  const { place, at } = inWorktree(worktree)
  const ours = await stateOf(parent, head)
  const merge = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', ours.commit, tip]
  const { code, stdout } = await runGit([...place, ...merge], at)
  if (code !== 0 && code !== 1) return unknown
  const clashing = stdout
    .split('\0')
    .slice(1)
    .filter((path) => path !== '')
  const conflicts = [...new Set([...(code === 1 ? clashing : []), ...untrackedClashes(files, ours.untracked)])]
  if (conflicts.length > 0) return `It CONFLICTS with your folder as it is now, in: ${conflicts.map(shown).join(', ')}.`
  return 'It merges with your folder as it is now.'
}

/** New files of the branch that lie in the parent's folder too, unknown to git there, or in the way of what lies there. */
function untrackedClashes(files: ChangedFile[], untracked: ReadonlySet<string>): string[] {
  const added = files.flatMap(({ status, path }) => (status === 'A' ? path : []))
  const folders = new Set([...untracked].flatMap(foldersOf))
  return added.filter((path) => [path, ...foldersOf(path)].some((one) => untracked.has(one)) || folders.has(path))
}

/** `a/b/c` lies in `a/b` and in `a`. */
function foldersOf(path: string): string[] {
  return path.split('/').flatMap((_, n, parts) => (n === 0 ? [] : parts.slice(0, n).join('/')))
}

/** The parent's folder as a commit that no branch knows: made with an index of our own, so that its own stays untouched. */
async function stateOf(parent: ParentPlace, head: string): Promise<{ commit: string; untracked: Set<string> }> {
  const { dir } = parent
  const index = join(tmpdir(), `troupe-index-${randomBytes(8).toString('hex')}`)
  try {
    const place = placeOf(parent)
    const [top = dir, own = ''] = (
      await git([...place, 'rev-parse', '--show-toplevel', '--path-format=absolute', '--git-path', 'index'], {
        cwd: dir,
      })
    )
      .trim()
      .split('\n')
    const others = await git([...place, 'ls-files', '-z', '--others', '--exclude-standard', '--full-name'], {
      cwd: top,
    })
    copyFileSync(own, index)
    const options = { cwd: top, env: { GIT_INDEX_FILE: index } }
    await git([...place, 'add', '-u'], options)
    const tree = (await git([...place, 'write-tree'], options)).trim()
    const identity = ['-c', 'user.name=Troupe', '-c', 'user.email=troupe@localhost']
    const commit = (await git([...place, ...identity, 'commit-tree', tree, '-p', head, '-m', 'state'], options)).trim()
    return { commit, untracked: new Set(others.split('\0')) }
  } catch {
    return { commit: head, untracked: new Set() } // In the middle of a merge, say: its last commit is known at least.
  } finally {
    rmSync(index, { force: true })
  }
}
