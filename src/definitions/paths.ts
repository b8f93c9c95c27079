import { existsSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RuntimeError } from '../core/errors.ts'

type Environment = Record<string, string | undefined>

/** The user's configuration folder: `config` in TROUPE_HOME, else `troupe` in XDG_CONFIG_HOME, else ~/.config/troupe. Makes nothing. */
export function userConfigDir(env: Environment = process.env): string {
  if (env.TROUPE_HOME) return join(resolve(env.TROUPE_HOME), 'config')
  // The XDG specification says that a relative path counts as unset.
  if (env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME)) return join(env.XDG_CONFIG_HOME, 'troupe')
  return join(resolve(env.HOME || homedir()), '.config', 'troupe')
}

/**
 * The folder that counts as the workspace's whole: the nearest one with `.git`, from `dir` upward, else `dir` itself;
 * links followed. Never the root of the file system: throws `bad-dir` when that is asked for, or when there is no `dir`.
 */
export function findWorktree(dir: string): string {
  const start = realDir(dir)
  if (isRoot(start)) {
    throw new RuntimeError(
      'bad-dir',
      `${start} would make the whole machine the workspace. Start in a project, or give --dir.`,
    )
  }
  for (let folder = start; !isRoot(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder
  }
  return start
}

/** The folders from `dir` up to the worktree, nearest first; `dir` alone if it does not lie inside. */
export function foldersUpTo(dir: string, worktree: string): string[] {
  const start = realDir(dir)
  const folders = [start]
  while (folders.at(-1) !== worktree) {
    const parent = dirname(folders.at(-1)!)
    if (isRoot(parent)) return [start]
    folders.push(parent)
  }
  return folders
}

/** The agents that come with the package. */
export function builtinAgentsDir(): string {
  return join(packageDir(), 'agents')
}

/** The skills that come with the package. */
export function builtinSkillsDir(): string {
  return join(packageDir(), 'skills')
}

let foundPackageDir: string | undefined

/** The same from `src/definitions/` and from a bundle in `dist/`: the nearest folder with both. */
function packageDir(): string {
  if (foundPackageDir !== undefined) return foundPackageDir
  for (let folder = dirname(fileURLToPath(import.meta.url)); !isRoot(folder); folder = dirname(folder)) {
    if (!existsSync(join(folder, 'package.json')) || !existsSync(join(folder, 'agents'))) continue
    foundPackageDir = folder
    return folder
  }
  throw new RuntimeError('bad-install', 'The built-in agents are missing. Install troupe again.')
}

function realDir(dir: string): string {
  try {
    const real = realpathSync(dir)
    if (statSync(real).isDirectory()) return real
  } catch {
    // Said below, in the same words as for a file.
  }
  throw new RuntimeError('bad-dir', `There is no folder ${resolve(dir)}. Give an existing one with --dir.`)
}

function isRoot(path: string): boolean {
  return dirname(path) === path
}
