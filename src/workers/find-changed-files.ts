import { lstatSync, readFileSync } from 'node:fs'
import type { FoundFile } from '../core/messages.ts'
import { hashOf, maxHashedBytes, versionOf } from '../tools/workspace-files.ts'

/** What this thread knows of files: their hash as long as size, times and inode are the same. */
const known = new Map<string, { version: string; hash: string }>()

const maxKnown = 5000
/** Files looked at before one request, the newest first, and bytes read for it. */
const maxLooks = 200
const maxBytes = 8 * 1024 * 1024

/** Of a path where no file is any more. */
const gone = 'gone'

/**
 * Files that a session has in its context and that are not as it knows them (absolute path to hash): changed by a command
 * or from outside. Costs a look at each; read are only those that are not as they were when this thread last did.
 */
export function findChangedFiles(files: Readonly<Record<string, string>>): FoundFile[] {
  const found: FoundFile[] = []
  const budget = { bytes: maxBytes }
  for (const path of Object.keys(files).toReversed().slice(0, maxLooks)) {
    const hash = hashNow(path, budget)
    if (hash !== undefined && hash !== files[path]) found.push({ path, hash })
  }
  return found
}

/** `undefined`: not known, for this time enough has been read. */
function hashNow(path: string, budget: { bytes: number }): string | undefined {
  try {
    return readHash(path, budget)
  } catch {
    return undefined // It cannot be looked at now: the tool that opens it will say why.
  }
}

function readHash(path: string, budget: { bytes: number }): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats?.isFile()) return gone
  const version = versionOf(stats)
  const before = known.get(path)
  if (before?.version === version) return before.hash
  if (stats.size > maxHashedBytes) return version
  if (stats.size > budget.bytes) return undefined
  budget.bytes -= stats.size
  const hash = hashOf(readFileSync(path))
  if (known.size >= maxKnown) known.clear()
  known.set(path, { version, hash })
  return hash
}
