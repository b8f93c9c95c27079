import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { nearest } from './sandbox-arguments.ts'

/** The folders in which the repository around `dir` keeps its data: `.git`, or where a linked worktree's `.git` points. */
export function repositoryFolders(dir: string): string[] {
  try {
    const entry = join(
      nearest(dir, (at) => existsSync(join(at, '.git'))),
      '.git',
    )
    return lstatSync(entry).isDirectory() ? [entry] : linkedFolders(entry)
  } catch {
    return [] // No repository, or one that cannot be read.
  }
}

// A pointer alone proves nothing, since a command may have written it: the repository must point back.
function linkedFolders(entry: string): string[] {
  const gitDir = realpathSync(resolve(dirname(entry), /^gitdir: (.+)\n?$/.exec(readFileSync(entry, 'utf8'))![1]!))
  if (realpathSync(readFileSync(join(gitDir, 'gitdir'), 'utf8').trim()) !== realpathSync(entry)) return []
  const common = join(gitDir, 'commondir')
  return existsSync(common) ? [realpathSync(resolve(gitDir, readFileSync(common, 'utf8').trim()))] : [gitDir]
}
