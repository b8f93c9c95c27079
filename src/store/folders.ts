import { closeSync, constants, fsync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolders } from './make-folders.ts'
import type { OpenFiles } from './open-files.ts'
import { errnoOf, storageError } from './storage-error.ts'

/**
 * Makes a folder for its owner alone; returns it with every folder above it whose entry may not be on the disk yet,
 * innermost first: up to `above`, or further when that had to be made as well.
 */
export function makeFolder(path: string, above: string): string[] {
  try {
    const firstMade = makeFolders(path)
    const last = firstMade === undefined ? above : dirname(firstMade)
    const folders = [path]
    for (let folder = path; folder !== last && folder !== dirname(folder); ) {
      folder = dirname(folder)
      folders.push(folder)
    }
    return folders
  } catch (error) {
    throw storageError('write', path, error)
  }
}

/** Brings the names of new files in these folders to the disk. Rejects with `storage-failed`. */
export async function syncFolders(folders: string[], files: OpenFiles): Promise<void> {
  for (const folder of folders) {
    try {
      await syncFolder(files.openApart(folder, constants.O_RDONLY))
    } catch (error) {
      // Some network file systems cannot sync a folder.
      if (!['EINVAL', 'EPERM', 'ENOTSUP'].includes(errnoOf(error))) throw storageError('sync', folder, error)
    }
  }
}

function syncFolder(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fsync(fd, (error) => {
      closeSync(fd)
      if (error) reject(error)
      else resolve()
    })
  })
}
