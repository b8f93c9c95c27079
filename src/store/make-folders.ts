import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf } from './storage-error.ts'

/**
 * Makes a folder for its owner alone, and those above it that are missing; returns the outermost that was made, if any.
 * Node's own `recursive` loops for ever where a folder exists but none can be made in it and the system says ENOENT (/proc).
 */
export function makeFolders(path: string): string | undefined {
  const parent = dirname(path)
  if (parent === path || isFolder(path)) return undefined
  const outermost = makeFolders(parent)
  return makeOne(path) ? (outermost ?? path) : outermost
}

/** False when another process was faster. */
function makeOne(path: string): boolean {
  try {
    mkdirSync(path, 0o700)
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST' && isFolder(path)) return false
    throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
