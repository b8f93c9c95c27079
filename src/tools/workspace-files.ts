import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFile,
  readFileSync,
  readlinkSync,
  type Stats,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { RuntimeError } from '../core/errors.ts'
import { nearNames } from './near-names.ts'
import type { ResolvedPath } from './workspace.ts'

/** `mode` has the permission bits only; times are wall-clock milliseconds. */
export type FileStat = {
  kind: 'file' | 'folder'
  size: number
  mode: number
  mtimeMs: number
  uid: number
  gid: number
  /** Changes whenever the file does; a cheap stand-in for the hash of a huge file. */
  version: string
}

/** A whole file. `hash` is what the journal and the job board know it by. */
export type LoadedFile = { bytes: Buffer; hash: string; stat: FileStat }

/** Up to here a file is known by the hash of its bytes, beyond by size, times and inode: reading a window of it must not read it all. */
export const maxHashedBytes = 8 * 1024 * 1024

const maxLoadedBytes = 64 * 1024 * 1024
/** Below this, the trips to the thread pool cost more than reading or writing itself. */
export const maxSyncBytes = 2 * 1024 * 1024

/** Identifies a file's content: equal hashes, equal bytes. */
export function hashOf(bytes: Uint8Array | string): string {
  return createHash('sha1').update(bytes).digest('base64url')
}

/** The hash of a file whose bytes are at hand. */
export function fingerprintOf(bytes: Uint8Array, stat: FileStat): string {
  return stat.size > maxHashedBytes ? stat.version : hashOf(bytes)
}

/** `undefined` when nothing is there. Throws `not-a-file` for what must not be opened: it could block for ever. */
export function statFile(file: ResolvedPath): FileStat | undefined {
  const stats = statOrUndefined(file)
  if (!stats) return undefined
  if (!stats.isFile() && !stats.isDirectory()) {
    throw new RuntimeError('not-a-file', `${file.relative} is ${kindOf(stats)}, not a file; it is not opened.`)
  }
  return {
    kind: stats.isFile() ? 'file' : 'folder',
    size: stats.size,
    mode: stats.mode & 0o7777,
    mtimeMs: stats.mtimeMs,
    uid: stats.uid,
    gid: stats.gid,
    version: versionOf(stats),
  }
}

/** Of a file as the system knows it: what `FileStat` has as its version. */
export function versionOf({ size, mtimeMs, ctimeMs, ino }: Stats): string {
  return `stat:${size}:${mtimeMs}:${ctimeMs}:${ino}`
}

/** Reads a whole file. Throws `not-found`, `not-a-file`, `too-large`, `not-readable`. */
export async function loadFile(file: ResolvedPath, signal: AbortSignal): Promise<LoadedFile> {
  const stat = statFile(file)
  if (!stat) throw notFound(file)
  if (stat.kind === 'folder') throw new RuntimeError('not-a-file', `${file.relative} is a folder, not a file.`)
  if (stat.size > maxLoadedBytes) {
    throw new RuntimeError('too-large', `${file.relative} has ${stat.size} bytes: too large to be handled as a whole.`)
  }
  const bytes = await readBytes(file, stat, signal)
  return { bytes, hash: fingerprintOf(bytes, stat), stat }
}

/** Names in a folder, folders with a final `/`, sorted; `undefined` when it cannot be listed. */
export function listFolder(path: string): string[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true })
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .sort()
  } catch {
    return undefined // Not a folder, or not ours to look into: no names to offer.
  }
}

/** The error for a path where nothing is, with names that may have been meant. */
export function notFound(file: ResolvedPath): RuntimeError {
  const folder = dirname(file.path)
  const names = listFolder(folder)?.map((name) => name.replace(/\/$/, ''))
  if (!names) return new RuntimeError('not-found', `${file.relative} does not exist, and its folder neither.`)
  const near = nearNames(basename(file.path), names).map((name) =>
    file.outside ? join(folder, name) : join(dirname(file.relative), name),
  )
  const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ''
  return new RuntimeError('not-found', `${file.relative} does not exist.${hint}`)
}

/** A platform error in words, `cause` kept; what is none of these comes back as it is. */
export function translated(error: unknown, file: ResolvedPath): unknown {
  const say = (code: string, message: string) => new RuntimeError(code, message, { cause: error })
  switch (platformError(error)) {
    case 'ENOENT':
      return notFound(file)
    case 'ENOTDIR':
      return say('not-found', `${file.relative} does not exist: a part of its path is a file, not a folder.`)
    case 'EISDIR':
      return say('not-a-file', `${file.relative} is a folder, not a file.`)
    case 'EACCES':
    case 'EPERM':
      return say('not-accessible', `The system does not let this user open ${file.relative}.`)
    case 'EROFS':
      return say('not-writable', `${file.relative} is on a read-only file system.`)
    case 'ENOSPC':
    case 'EDQUOT':
      return say('storage-full', `There is no space left to write ${file.relative}. Nothing was changed.`)
    case 'ELOOP':
      return say('bad-path', `${file.relative} was replaced by a link meanwhile; it was not opened.`)
    case 'ENAMETOOLONG':
      return say('bad-path', `The path is too long: ${file.relative.slice(0, 100)}...`)
    default:
      return error
  }
}

/** The platform's code of an error, such as `ENOENT`. */
export function platformError(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Flags to open a file for reading: a FIFO that took its place a moment ago cannot block us, nor a link lead elsewhere. */
export const openFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0)

/** Opens what was judged for reading. Throws `bad-path` when a folder on the way was swapped for a link since. */
export function openJudged(path: string): number {
  const fd = openSync(path, openFlags)
  if (isSame(fd, path)) return fd
  closeSync(fd)
  throw new RuntimeError('bad-path', `${path} was moved meanwhile; it was not opened.`)
}

/** False when an open file is known to lie elsewhere than at `path`, which is real. Known only where there is /proc. */
export function isSame(fd: number, path: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).replace(/ \(deleted\)$/, '') === path
  } catch {
    return true
  }
}

function statOrUndefined(file: ResolvedPath): Stats | undefined {
  try {
    return statSync(file.path, { throwIfNoEntry: false })
  } catch (error) {
    if (platformError(error) === 'ENOTDIR') return undefined
    throw translated(error, file)
  }
}

async function readBytes(file: ResolvedPath, stat: FileStat, signal: AbortSignal): Promise<Buffer> {
  try {
    return stat.size > maxSyncBytes ? await readLater(file.path, signal) : readNow(file.path)
  } catch (error) {
    throw translated(error, file)
  }
}

async function readLater(path: string, signal: AbortSignal): Promise<Buffer> {
  const fd = openJudged(path)
  try {
    return await new Promise((resolve, reject) => {
      readFile(fd, { signal }, (error, bytes) => (error === null ? resolve(bytes) : reject(error)))
    })
  } finally {
    closeSync(fd)
  }
}

function readNow(path: string): Buffer {
  const fd = openJudged(path)
  try {
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return 'a FIFO'
  if (stats.isSocket()) return 'a socket'
  return 'a device'
}
