import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { RuntimeError } from './core/errors.ts'
import { findWorktree } from './definitions/paths.ts'
import { loadTrust, refuseTrust, type TrustState, trust } from './definitions/trust.ts'
import { dataDir as defaultDataDir } from './store/data-dir.ts'
import { errnoOf } from './store/storage-error.ts'

/** Lets the configuration that a folder brings count from now on; resolves with the worktree that this trusts. */
export async function trustFolder(dir: string, dataDir?: string): Promise<string> {
  const place = placeOf(dir, dataDir)
  await saved(place, trust)
  return place.worktree
}

/** What a folder brings that counts only once it is trusted, and what the user has said of it. Runs nothing of it. */
export async function examineTrust(dir: string, dataDir?: string): Promise<TrustState & { worktree: string }> {
  const place = placeOf(dir, dataDir)
  return { ...(await loadTrust(place.dataDir, place.worktree, place.dir)), worktree: place.worktree }
}

/** Keeps that the user does not trust what the folder brings now: the question is not put again until that changes. */
export async function refuseFolder(dir: string, dataDir?: string): Promise<void> {
  await saved(placeOf(dir, dataDir), refuseTrust)
}

type Place = { dir: string; worktree: string; dataDir: string }

function placeOf(dir: string, dataDir?: string): Place {
  const worktree = findWorktree(resolve(dir))
  return { dir: realpathSync(resolve(dir)), worktree, dataDir: dataDir ? resolve(dataDir) : defaultDataDir() }
}

async function saved({ dataDir, worktree, dir }: Place, write: typeof trust): Promise<void> {
  try {
    await write(dataDir, worktree, dir)
  } catch (cause) {
    throw new RuntimeError(
      'no-data-dir',
      `That cannot be kept in ${dataDir} (${errnoOf(cause)}). Set TROUPE_HOME to a folder that troupe may write to.`,
      { cause },
    )
  }
}
