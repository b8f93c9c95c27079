import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'

const maxLinks = 40

/**
 * Where a path leads, links followed, as the system would walk it from `cwd`: real and absolute. What does not exist is
 * resolved from its deepest ancestor that does. Undefined when it cannot be told (a loop, a folder that may not be read).
 */
export function realTarget(path: string, cwd: string): string | undefined {
  return walk(path, cwd, 0)
}

/** True when a path (relative to `cwd`) leads into the folder `dir`, links followed. `/` as `dir` contains nothing. */
export function isInside(path: string, dir: string, cwd = dir): boolean {
  const root = realTarget(dir, sep)
  const target = realTarget(path, cwd)
  if (root === undefined || target === undefined || root === sep) return false
  return target === root || target.startsWith(root + sep)
}

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

function realOf(path: string, links: number): string | undefined {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') return undefined
  }
  const parent = dirname(path)
  if (parent === path || links > maxLinks) return undefined
  const realParent = realOf(parent, links)
  if (realParent === undefined) return undefined
  const target = danglingTarget(path)
  return target === undefined ? join(realParent, basename(path)) : walk(target, realParent, links + 1)
}

function danglingTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined
  } catch {
    // It does not exist: then it is no link either.
    return undefined
  }
}
