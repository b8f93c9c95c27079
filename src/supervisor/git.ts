import { execFile } from 'node:child_process'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, sep } from 'node:path'
import { RuntimeError } from '../core/errors.ts'

export type GitOutcome = { code: number; stdout: string; stderr: string }

export type GitOptions = {
  cwd: string
  /** Another folder, besides `cwd`, in which agents may write: no git is taken from it. */
  workspace?: string
  /** Besides ours. */
  env?: Record<string, string>
  timeoutMs?: number
}

const timeoutMs = 120_000
const maxOutputBytes = 32 * 1024 * 1024

/** A call of ours runs nothing that the repository brought along, and waits for nobody. */
const quiet = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=',
  'commit.gpgSign=false',
  'gc.auto=0',
  'maintenance.auto=false',
]

/** Runs git; a failure is an outcome, not an error. Throws `no-git` where there is none outside of the workspace. */
export function runGit(
  args: string[],
  { cwd, workspace = cwd, env, timeoutMs: limit = timeoutMs }: GitOptions,
): Promise<GitOutcome> {
  const file = findGit(process.env.PATH ?? '', [cwd, workspace])
  const all = [...quiet.flatMap((setting) => ['-c', setting]), ...args]
  const options = { cwd, env: { ...gitEnvironment(), ...env }, timeout: limit, maxBuffer: maxOutputBytes } as const
  return new Promise((resolve) => {
    const child = execFile(file, all, { ...options, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, stdout, stderr: stderr || (error?.message ?? '') })
    })
    child.stdin?.end()
  })
}

/** The same for calls that must succeed. Throws `git-failed` with git's own words. */
export async function git(args: string[], options: GitOptions): Promise<string> {
  const { code, stdout, stderr } = await runGit(args, options)
  if (code === 0) return stdout
  const words = stderr.trim().split('\n').slice(0, 3).join(' ')
  throw new RuntimeError('git-failed', `git ${args.find((arg) => !arg.startsWith('-'))} failed: ${words}`)
}

/** The git of the PATH, never one that lies where agents may write. */
function findGit(path: string, workspaces: string[]): string {
  const isOurs = (file: string) => workspaces.some((folder) => isInside(file, folder))
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue
    const file = join(folder, 'git')
    if (isProgram(file) && !isOurs(file) && !isOurs(realpathSync(file))) return file
  }
  throw new RuntimeError('no-git', 'There is no git on the PATH. Install it, or do without isolation: worktree.')
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false // Not there, or not for us: the next folder of the PATH.
  }
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep)
}

/** Variables of git's own would lead it to another repository. */
function gitEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  return {
    ...Object.fromEntries(kept),
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    LC_ALL: 'C',
    GIT_EDITOR: 'true',
  }
}
