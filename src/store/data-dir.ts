import { accessSync, constants } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { RuntimeError } from '../core/errors.ts'
import { makeFolders } from './make-folders.ts'
import { errnoOf } from './storage-error.ts'

type Environment = Record<string, string | undefined>

/**
 * Where journals and outputs live: TROUPE_HOME, else `troupe` in XDG_STATE_HOME, else ~/.local/state/troupe. Makes
 * nothing. Throws `no-data-dir` when none of them is set.
 */
export function dataDirPath(env: Environment = process.env): string {
  if (env.TROUPE_HOME) return resolve(env.TROUPE_HOME)
  // The XDG specification says that a relative path counts as unset.
  if (env.XDG_STATE_HOME && isAbsolute(env.XDG_STATE_HOME)) return join(env.XDG_STATE_HOME, 'troupe')
  if (env.HOME) return join(resolve(env.HOME), '.local', 'state', 'troupe')
  throw new RuntimeError(
    'no-data-dir',
    'There is no folder for sessions: HOME is not set. Set TROUPE_HOME to a folder that troupe may write to.',
  )
}

/** The same folder, made if needed. Throws `no-data-dir` when it cannot be made or written to. */
export function dataDir(env: Environment = process.env): string {
  const path = dataDirPath(env)
  try {
    makeFolders(path)
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new RuntimeError(
      'no-data-dir',
      `Sessions cannot be kept in ${path} (${errnoOf(error)}). Set TROUPE_HOME to a folder that troupe may write to.`,
      { cause: error },
    )
  }
  return path
}
