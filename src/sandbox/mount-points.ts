import { closeSync, lstatSync, mkdirSync, openSync, rmdirSync, unlinkSync } from 'node:fs'

export type WantedPoint = { path: string; kind: 'folder' | 'file' }

/**
 * Something to mount over, where a protected file does not exist yet: else a command could create it. Made points are empty,
 * and go away with the last command that needs them.
 */
export type MountPoints = {
  /** Makes those that are missing; names those that now exist. */
  take(wanted: readonly WantedPoint[]): string[]
  /** Gives back what one `take` named. */
  release(paths: readonly string[]): void
}

export function createMountPoints(): MountPoints {
  const users = new Map<string, number>()
  const made = new Map<string, WantedPoint>()

  function hold(point: WantedPoint): boolean {
    const isThere = exists(point.path)
    if (!isThere && !make(point)) return false
    if (!isThere) made.set(point.path, point)
    users.set(point.path, (users.get(point.path) ?? 0) + 1)
    return true
  }

  return {
    take: (wanted) => wanted.filter(hold).map(({ path }) => path),
    release(paths) {
      for (const path of paths) {
        const left = (users.get(path) ?? 1) - 1
        if (left > 0) {
          users.set(path, left)
          continue
        }
        users.delete(path)
        const point = made.get(path)
        made.delete(path)
        if (point !== undefined) removeEmpty(point)
      }
    },
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function make({ path, kind }: WantedPoint): boolean {
  try {
    if (kind === 'folder') mkdirSync(path)
    else closeSync(openSync(path, 'wx'))
    return true
  } catch {
    return false // The folder is not ours to write: then no command can create it either.
  }
}

// Never what somebody has filled meanwhile.
function removeEmpty({ path, kind }: WantedPoint): void {
  try {
    if (kind === 'folder') rmdirSync(path)
    else if (lstatSync(path).size === 0) unlinkSync(path)
  } catch {
    // Gone, or no longer empty: it is somebody's now.
  }
}
