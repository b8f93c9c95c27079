import { lstatSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative, resolve, sep } from 'node:path'
import { RuntimeError } from '../core/errors.ts'
import { realTarget } from '../permissions/path-gate.ts'
import { type FileStat, type LoadedFile, loadFile, notFound, platformError, statFile } from './workspace-files.ts'

/** A path as a tool will open it. */
export type ResolvedPath = {
  /** Absolute and real: links followed; what does not exist yet stands below its deepest existing folder. */
  path: string
  /** Relative to the workspace, with `/`; the workspace itself is `.`; the absolute path when outside. */
  relative: string
  outside: boolean
}

/** The folder that a session works in. Its methods throw `RuntimeError`s that the model can act on. */
export type Workspace = {
  /** Absolute and real. */
  dir: string
  /** Throws `bad-path`, or `not-a-file` for what is part of /dev, /proc or /sys. */
  resolve(path: string): ResolvedPath
  /** `undefined` when nothing is there. Throws `not-a-file` for FIFOs, sockets and devices. */
  stat(file: ResolvedPath): FileStat | undefined
  /** The whole file. Throws `not-found` (with near names), `not-a-file`, `too-large`. */
  load(file: ResolvedPath, signal: AbortSignal): Promise<LoadedFile>
  /** The error for a path where nothing is. */
  notFound(file: ResolvedPath): RuntimeError
}

/** Throws `not-found` or `not-a-folder` when there is no such folder. */
export function createWorkspace(dir: string): Workspace {
  const root = realFolder(dir)
  return {
    dir: root,
    resolve: (path) => resolveIn(root, path),
    stat: statFile,
    load: loadFile,
    notFound,
  }
}

/** Whether `path` is `folder` or lies below it; both absolute and real. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

function realFolder(dir: string): string {
  try {
    const real = realpathSync.native(dir)
    if (statFile({ path: real, relative: dir, outside: false })?.kind === 'folder') return real
  } catch (cause) {
    throw new RuntimeError('not-found', `There is no folder ${dir}. Name an existing one.`, { cause })
  }
  throw new RuntimeError('not-a-folder', `${dir} is not a folder. Name an existing one.`)
}

function resolveIn(root: string, path: string): ResolvedPath {
  if (path === '') throw new RuntimeError('bad-path', 'The path is empty. Name a file or folder.')
  if (path.includes('\0')) throw new RuntimeError('bad-path', 'The path contains a NUL character.')
  const asked = withHome(path)
  refuseSystemPath(resolve(root, asked), root, path)
  const real = realTarget(asked, root) ?? unresolved(resolve(root, asked), path)
  refuseSystemPath(real, root, path)
  const outside = !isInside(root, real)
  return { path: real, relative: outside ? real : relative(root, real).split(sep).join('/') || '.', outside }
}

function withHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path
}

/** Opening such a path may block for ever, never end, or show a process's secrets. */
function refuseSystemPath(absolute: string, root: string, asked: string): void {
  if (!/^\/(proc|sys|dev(?!\/shm\/))(\/|$)/.test(absolute) || isInside(root, absolute)) return
  throw new RuntimeError('not-a-file', `${asked} belongs to the system and is no file of a project; it is not opened.`)
}

/** Why it cannot be told where a path leads. */
function unresolved(absolute: string, asked: string): never {
  const code = problemOf(absolute)
  if (code === 'ENAMETOOLONG') throw new RuntimeError('bad-path', `The path is too long: ${asked.slice(0, 100)}...`)
  if (code === 'EACCES' || code === 'EPERM') {
    throw new RuntimeError('not-accessible', `The system does not let this user look at ${asked}.`)
  }
  throw new RuntimeError('bad-path', `${asked} is a link that leads back to itself.`)
}

function problemOf(path: string): string | undefined {
  try {
    lstatSync(path)
    realpathSync.native(path)
    return undefined
  } catch (error) {
    return platformError(error)
  }
}
