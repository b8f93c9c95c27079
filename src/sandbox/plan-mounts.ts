import { existsSync, lstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { SandboxLeave } from '../core/messages.ts'
import type { SandboxSettings } from '../core/settings.ts'
import { protectedFiles, protectedFolders } from '../permissions/protected-path.ts'
import { listeningSockets } from './listening-sockets.ts'
import type { WantedPoint } from './mount-points.ts'
import { repositoryFolders } from './repository-folders.ts'
import { isWithin, type Mount, nearest } from './sandbox-arguments.ts'

export type MountRequest = {
  settings: Pick<SandboxSettings, 'mode' | 'network'>
  /** The worktree and the folder to run in, absolute and real. */
  dir: string
  cwd: string
  leave: SandboxLeave
}

/** Kept out of sight: what would let a command act as the user elsewhere. */
const credentials = ['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.config/gcloud', '.config/gh']
/** Protected files that are made unwritable even where they are missing. */
const guardedFolders = ['.troupe', '.claude', '.opencode', '.vscode']
const guardedFiles = ['troupe.yaml', '.mcp.json', '.envrc']
/** Where sockets and other programs' files lie: a command gets empty ones of its own. */
const scratch = ['/tmp', '/var/tmp', '/run']

/** Missing protected files and folders of a worktree for which a mount point is needed. */
export function wantedPoints({ settings, dir, leave }: MountRequest): WantedPoint[] {
  const hooks = leave.git ? repositoryFolders(dir).map((folder) => join(folder, 'hooks')) : []
  const guarded = settings.mode === 'read-only' ? [] : guardedFolders.map((name) => join(dir, name))
  // Empty files would be committed with all others; git sees no empty folders.
  const files = settings.mode === 'read-only' || leave.git ? [] : guardedFiles.map((name) => join(dir, name))
  return [
    ...[...guarded, ...hooks].map((path): WantedPoint => ({ path, kind: 'folder' })),
    ...files.map((path): WantedPoint => ({ path, kind: 'file' })),
  ]
}

/** What lies where for one command, in the order in which it is mounted. */
export function planMounts(request: MountRequest): Mount[] {
  const { settings, dir, cwd, leave } = request
  const canWrite = settings.mode === 'workspace-write'
  const hasNetwork = settings.network || leave.network === true
  const beyond = (leave.paths ?? []).map((path) => nearest(path, existsSync)).filter((path) => path !== '/')
  return [
    ...scratch.filter(isFolder).map((path): Mount => ({ kind: 'empty', path })),
    ...runtimeFolder(),
    ...(hasNetwork ? resolverFolder() : []),
    ...hiddenCredentials(hasNetwork),
    ...beyond.filter((path) => isWithin(dir, path)).map(writable),
    { kind: canWrite ? 'writable' : 'read-only', path: dir },
    ...(isWithin(cwd, dir) ? [] : [{ kind: 'read-only', path: cwd } as const]),
    ...(canWrite ? protectedMounts(dir) : []),
    ...(leave.git ? repositoryMounts(dir) : []),
    ...beyond.filter((path) => !isWithin(dir, path)).map(writable),
    ...hiddenSockets([dir, cwd, ...beyond]),
  ]
}

function writable(path: string): Mount {
  return { kind: 'writable', path }
}

// In folders that are empty there is none.
function hiddenSockets(shown: string[]): Mount[] {
  const within = (path: string, folders: string[]) => folders.some((folder) => isWithin(path, folder))
  return listeningSockets()
    .filter((path) => within(path, shown) || !within(path, scratch))
    .map((path): Mount => ({ kind: 'hidden', path }))
}

function runtimeFolder(): Mount[] {
  const path = process.env.XDG_RUNTIME_DIR
  if (!path?.startsWith('/') || scratch.some((folder) => isWithin(path, folder)) || !isFolder(path)) return []
  return [{ kind: 'empty', path }]
}

// Names are looked up through files that lie in the hidden /run.
function resolverFolder(): Mount[] {
  return ['/run/systemd/resolve', '/run/resolvconf', '/run/NetworkManager']
    .filter(isFolder)
    .map((path): Mount => ({ kind: 'read-only', path }))
}

// A command that was let onto the network may need the user's keys to be somebody there.
function hiddenCredentials(hasNetwork: boolean): Mount[] {
  if (hasNetwork) return []
  const home = homedir()
  return credentials
    .map((name) => join(home, name))
    .filter(isFolder)
    .map((path): Mount => ({ kind: 'empty', path }))
}

// A folder that is itself mounted cannot be renamed away either.
function protectedMounts(dir: string): Mount[] {
  return [...protectedFolders, ...protectedFiles]
    .map((name) => join(dir, name))
    .filter(isMountable)
    .map((path): Mount => ({ kind: 'read-only', path }))
}

/** The repository's data becomes writable, but nothing that git runs. */
function repositoryMounts(dir: string): Mount[] {
  return repositoryFolders(dir).flatMap((folder): Mount[] => [
    { kind: 'writable', path: folder },
    ...['hooks', 'config', 'config.worktree', 'modules', 'info']
      .map((name) => join(folder, name))
      .filter(isMountable)
      .map((path): Mount => ({ kind: 'read-only', path })),
  ])
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

// A link would be followed: what it leads to outside is read-only in any case, and inside it is the target's own affair.
function isMountable(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat !== undefined && !stat.isSymbolicLink()
}
