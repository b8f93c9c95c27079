import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { messageOf, RuntimeError } from '../core/errors.ts'
import type { SessionId } from '../core/ids.ts'
import type { Worktree } from '../core/records.ts'
import { git, runGit } from './git.ts'
import type { Kernel } from './kernel.ts'
import type { SessionEntry } from './session-entry.ts'
import { gitDirOf, kept, sealWorktree } from './worktree-work.ts'

/** A child's folder in a worktree of its own. */
export type WorktreePlace = { dir: string; worktree: Worktree }

/** Git worktrees of children that asked for isolation; one repository is changed by one at a time. */
export type Worktrees = {
  /** Makes the worktree of a child-to-be, from the last commit of its parent. Made already, it is taken as it is. */
  create(parent: SessionEntry, child: SessionId): Promise<WorktreePlace | { refused: string }>
  /** Makes sure that a child which goes on has its folder again; returns what stands in the way. */
  reopen(child: SessionEntry): Promise<string | undefined>
  /** Takes back what was made for a child that was not launched after all. */
  discard(place: WorktreePlace): Promise<void>
  /**
   * Before a child's end: commits its work to its branch, and removes a folder with nothing else in it when the child has
   * completed. What its parent is to know is kept for `noteFor`. Rejects never.
   */
  close(child: SessionEntry, how: { completed: boolean }): Promise<void>
  /** A result's text with what is to be said of the child's worktree. */
  withNote(child: SessionEntry, text: string): string
}

export function createWorktrees(kernel: Kernel): Worktrees {
  const queues = new Map<string, Promise<unknown>>()
  const notes = new Map<SessionEntry, string>()

  /** One after the other for each repository: git's own locks make the second one fail. */
  function queued<Result>(repo: string, work: () => Promise<Result>): Promise<Result> {
    const turn = (queues.get(repo) ?? Promise.resolve()).then(work)
    queues.set(
      repo,
      turn.catch(() => undefined),
    )
    return turn
  }

  async function create(parent: SessionEntry, child: SessionId): Promise<WorktreePlace | { refused: string }> {
    try {
      const { dir } = parent.seed
      const { repo, prefix } = await findRepository(dir)
      const base = await headCommit(dir)
      const folder = join(kernel.store.dataDir, 'worktrees', child)
      return await queued(repo, async () => {
        mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
        const top = join(realpathSync(dirname(folder)), child)
        const worktree = { dir: top, repo, branch: `troupe/${child}`, base }
        await addWorktree(worktree)
        mkdirSync(join(top, prefix), { recursive: true })
        return { worktree, dir: join(top, prefix) }
      })
    } catch (thrown) {
      return { refused: messageOf(thrown) }
    }
  }

  async function reopen({ seed }: SessionEntry): Promise<string | undefined> {
    const { worktree } = seed
    if (!worktree) return undefined
    try {
      await queued(worktree.repo, () => addWorktree(worktree))
      mkdirSync(seed.dir, { recursive: true })
      return undefined
    } catch (thrown) {
      return `The worktree of ${seed.parent?.alias} cannot be made again: ${messageOf(thrown)}`
    }
  }

  /** Several ends of one session may overlap: its worktree is closed by one at a time. */
  async function close(child: SessionEntry, how: { completed: boolean }): Promise<void> {
    const { worktree } = child.seed
    const parent = kernel.parentOf(child)
    if (worktree && parent) await queued(worktree.dir, () => closeNow(child, { worktree, parent, ...how }))
  }

  async function closeNow(
    child: SessionEntry,
    { worktree, parent, completed }: { worktree: Worktree; parent: SessionEntry; completed: boolean },
  ): Promise<void> {
    await kernel.processes.kill(child.seed.session)
    if (!existsSync(worktree.dir)) {
      notes.set(child, `[worktree] Its folder is gone; what was committed is on branch ${worktree.branch}.`)
      return
    }
    const title = `${child.seed.parent?.alias}: work of ${child.seed.agent.name}`
    const work = await sealWorktree(worktree, parent.seed, title)
    const problem = completed && work.clean ? await remove(worktree, work.ahead) : undefined
    const stays = existsSync(worktree.dir) && !work.note.includes(worktree.dir)
    const where = stays
      ? `\n${kept(worktree, problem ?? (completed ? 'There is more in it.' : 'It did not complete.'))}`
      : ''
    notes.set(child, work.note + where)
  }

  /** git itself refuses to remove a folder that has anything in it which is not committed or ignored. */
  function remove(worktree: Worktree, ahead: boolean): Promise<string | undefined> {
    const { repo, dir, branch } = worktree
    const options = { cwd: repo, workspace: dirname(repo) }
    return queued(repo, async () => {
      const removed = await runGit([`--git-dir=${repo}`, 'worktree', 'remove', dir], options)
      if (removed.code !== 0) return removed.stderr.trim().split('\n')[0]
      if (!ahead) await runGit([`--git-dir=${repo}`, 'branch', '-q', '-D', branch], options)
      return undefined
    })
  }

  return {
    create,
    reopen,
    async discard({ worktree }) {
      await remove(worktree, false)
    },
    close,
    withNote(child, text) {
      const note = notes.get(child)
      notes.delete(child)
      return note === undefined ? text : `${text}\n\n${note}`.trim()
    },
  }
}

/** The repository of a folder, and the folder's path in it. Throws `no-repository`. */
async function findRepository(dir: string): Promise<{ repo: string; prefix: string }> {
  const args = ['rev-parse', '--path-format=absolute', '--git-common-dir', '--show-toplevel']
  const { code, stdout } = await runGit(args, { cwd: dir })
  const [repo, top] = stdout.trim().split('\n')
  if (code === 0 && repo && top) return { repo, prefix: relative(realpathSync(top), dir) }
  throw new RuntimeError(
    'no-repository',
    `isolation: worktree needs a git repository, and ${dir} is in none. Send the job without isolation; it works in this folder then.`,
  )
}

async function headCommit(dir: string): Promise<string> {
  const { code, stdout } = await runGit(['rev-parse', '-q', '--verify', 'HEAD^{commit}'], { cwd: dir })
  if (code === 0) return stdout.trim()
  throw new RuntimeError(
    'no-commit',
    'isolation: worktree begins from the last commit, and this repository has none. Commit first, or send the job without isolation.',
  )
}

/** Adds it, with its branch where that is missing; one that is there already, after a crash, is kept with what is in it. */
async function addWorktree({ repo, dir, branch, base }: Worktree): Promise<void> {
  if (existsSync(join(dir, '.git'))) {
    gitDirOf({ repo, dir })
    return
  }
  const options = { cwd: repo, workspace: dirname(repo), timeoutMs: 600_000 }
  const known = await runGit([`--git-dir=${repo}`, 'rev-parse', '-q', '--verify', `refs/heads/${branch}`], options)
  const target = known.code === 0 ? [dir, branch] : ['-b', branch, dir, base]
  await git([`--git-dir=${repo}`, 'worktree', 'add', '-q', '-f', ...target], options)
}
