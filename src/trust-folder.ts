import { resolve } from 'node:path'
import { findWorktree } from './definitions/paths.ts'
import { trust } from './definitions/trust.ts'
import { dataDir as defaultDataDir } from './store/data-dir.ts'

/** Lets the configuration that a folder brings count from now on; resolves with the worktree that this trusts. */
export async function trustFolder(dir: string, dataDir?: string): Promise<string> {
  const worktree = findWorktree(resolve(dir))
  await trust(dataDir ? resolve(dataDir) : defaultDataDir(), worktree)
  return worktree
}
