import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Where programs of the system lie; the PATH is not asked, since a project may have changed it. */
const systemFolders = ['/usr/bin', '/bin', '/usr/local/bin', '/run/current-system/sw/bin']

/** The system's `bwrap`, absolute and real; `undefined` where there is none that only root can change. */
export function findBubblewrap(folders: readonly string[] = systemFolders): string | undefined {
  return folders.map((folder) => join(folder, 'bwrap')).find(isTrusted)
}

function isTrusted(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    const real = realpathSync.native(file)
    return statSync(real).isFile() && [real, dirname(real)].every(onlyRootWrites)
  } catch {
    return false // Not there, or not for us.
  }
}

function onlyRootWrites(path: string): boolean {
  const { uid, mode } = statSync(path)
  return uid === 0 && (mode & 0o022) === 0
}
