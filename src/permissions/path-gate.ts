import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import { isKnownCaseBlind, spelledAsStored } from './stored-names.ts'

const maxLinks = 40

/**
 * Where a path leads, links followed, as the system would walk it from `cwd`: real and absolute. What does not exist is
 * resolved from its deepest ancestor that does. Names are spelled as the file system has them. Undefined when it cannot be told (a loop, a folder that may not be read).
 */
export function realTarget(path: string, cwd: string): string | undefined {
  const target = walk(path, cwd, 0)
  return target !== undefined && isKnownCaseBlind(cwd) ? spelledAsStored(target) : target
}

/** True when a path (relative to `cwd`) leads into the folder `dir`, links followed. `/` as `dir` contains nothing. */
export function isInside(path: string, dir: string, cwd = dir): boolean {
  return createPathGate(dir, cwd).isInside(path)
}

export type PathGate = { isInside(path: string): boolean }

/** `isInside` for many paths: what they have in common is looked up once. */
export function createPathGate(dir: string, cwd = dir): PathGate {
  const root = realTarget(dir, sep)
  const contains = (path: string | undefined) =>
    root !== undefined && root !== sep && path !== undefined && (path === root || path.startsWith(root + sep))
  const startsInside = contains(cwd === dir ? root : realTarget(cwd, sep))
  return {
    isInside(path) {
      const isName = !path.includes(sep) && path !== '..'
      if (isName && startsInside && kindOf(join(cwd, path)) in unlinked) return true
      return contains(realTarget(path, cwd))
    },
  }
}

const unlinked = { there: true, missing: true }

function walk(path: string, cwd: string, links: number): string | undefined {
  let at = isAbsolute(path) ? sep : cwd
  for (const part of path.split(sep)) {
    if (part === '' || part === '.') continue
    if (part !== '..') {
      at = join(at, part)
      continue
    }
    // The parent of a link is the parent of its target: `link/..` is not where the link lies.
    const real = realOf(at, links)
    if (real === undefined) return undefined
    at = dirname(real)
  }
  return realOf(at, links)
}

// Exceptions cost more than the system calls: what is not there is the usual case for the words of a command.
function realOf(path: string, links: number): string | undefined {
  const parent = dirname(path)
  if (parent === path) return path
  const kind = kindOf(path)
  if (kind === 'unknown' || links > maxLinks) return undefined
  if (kind === 'there') return realpathOf(path)
  const realParent = realOf(parent, links)
  if (realParent === undefined) return undefined
  return kind === 'link' ? walk(readlinkSync(path), realParent, links + 1) : join(realParent, basename(path))
}

function kindOf(path: string): 'there' | 'link' | 'missing' | 'unknown' {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined ? 'missing' : stat.isSymbolicLink() ? 'link' : 'there'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? 'missing' : 'unknown'
  }
}

function realpathOf(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    // It went away, or may not be looked at: nothing can be told of it.
    return undefined
  }
}
