import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { RuntimeError } from '../core/errors.ts'
import type { PermissionRequest } from '../core/permission.ts'
import type { Prepared, ToolContext, ToolOutput } from './define-tool.ts'
import { headOf } from './text.ts'
import { isUtf16, utf8Of } from './text-files.ts'
import { type FileDiff, unifiedDiff } from './unified-diff.ts'
import type { ResolvedPath } from './workspace.ts'
import {
  type FileStat,
  fingerprintOf,
  isSame,
  type LoadedFile,
  maxSyncBytes,
  platformError,
  translated,
} from './workspace-files.ts'

/** What a tool makes of a file: its new bytes, a line for the model, and what else people may want to know. */
export type PlannedChange = { after: Buffer; summary: string; metadata?: Record<string, unknown> }

/** Computes a change from what is there (`undefined`: nothing). Throws a `RuntimeError` when there is none to make. */
type Plan = (before: LoadedFile | undefined) => PlannedChange

export type ChangeRequest = { file: ResolvedPath; context: ToolContext; plan: Plan }

/** Names of our temporary files, which no search shows. */
export const temporaryName = /^\.troupe-[0-9a-f]+\.tmp$/

const absent = 'absent'
const maxDetailChars = 200_000
const maxMetadataChars = 20_000

/** What changing a file asks of the permissions. */
export async function editRequest({ file, context, plan }: ChangeRequest): Promise<PermissionRequest> {
  const claim = await context.services.claimAgainst(file.path)
  const guarded = basename(file.path) === 'package.json' && (await changesScripts(file, context, plan))
  return {
    key: 'edit',
    pattern: file.relative,
    ...(file.outside && { outside: file.path }),
    ...(claim && { claim }),
    ...(guarded && { guarded }),
  }
}

/** True when a package's scripts are not known to stay as they are: any command of its package manager may run them. */
async function changesScripts(file: ResolvedPath, context: ToolContext, plan: Plan): Promise<boolean> {
  try {
    const before = await loadOrAbsent(file, context)
    return scriptsOf(before?.bytes ?? Buffer.from('{}')) !== scriptsOf(plan(before).after)
  } catch {
    return true // No JSON, or no change that can be made: then nothing is known of it.
  }
}

function scriptsOf(bytes: Buffer): string {
  return JSON.stringify((JSON.parse(bytes.toString('utf8')) as { scripts?: unknown }).scripts ?? {})
}

/** The change as a diff to approve; `basis` is what it was made from. */
export async function prepareChange(verb: string, { file, context, plan }: ChangeRequest): Promise<Prepared> {
  const before = await loadOrAbsent(file, context)
  assertFresh(file, before, context)
  const { diff, added, removed } = diffOf(file, before, plan(before).after)
  const title = `${verb} ${file.relative} (+${added} -${removed})`
  return { kind: 'edit', title, detail: capped(diff, maxDetailChars), basis: before?.hash ?? absent }
}

/**
 * Makes the change under the file's lock, atomically. Refused when the file is not what this session last read, or not
 * what was approved.
 */
export function applyChange(
  { file, context, plan }: ChangeRequest,
  approved: { basis?: string } | undefined,
): Promise<ToolOutput> {
  return context.services.withLock(file.path, async () => {
    context.signal.throwIfAborted()
    const before = await loadOrAbsent(file, context)
    assertFresh(file, before, context)
    assertApproved(file, before, approved?.basis)
    const { after, summary, metadata } = plan(before)
    const kept = before && context.keepBefore?.(file.path, before.bytes)
    await replaceFile(file, after, before?.stat)
    const hash = fingerprintOf(after, context.workspace.stat(file) ?? missing(file))
    const { diff, added, removed } = diffOf(file, before, after)
    return {
      title: `${file.relative} (+${added} -${removed})`,
      output: summary,
      metadata: { path: file.relative, diff: capped(diff, maxMetadataChars), added, removed, ...metadata },
      touched: [
        { path: file.path, kind: 'write', hash, before: { hash: before?.hash, kept, mode: before?.stat.mode } },
      ],
    }
  })
}

async function loadOrAbsent(file: ResolvedPath, { workspace, signal }: ToolContext): Promise<LoadedFile | undefined> {
  return workspace.stat(file) ? workspace.load(file, signal) : undefined
}

function assertFresh(file: ResolvedPath, before: LoadedFile | undefined, context: ToolContext): void {
  const known = context.files[file.path]
  if (known === undefined || before === undefined || known === before.hash) return
  throw new RuntimeError(
    'stale',
    `${file.relative} has changed since you last read it; nothing was written. Read it again with ${context.nameOf('read')}, then make your change on what it says now.`,
  )
}

function assertApproved(file: ResolvedPath, before: LoadedFile | undefined, basis: string | undefined): void {
  if (basis === undefined || basis === (before?.hash ?? absent)) return
  throw new RuntimeError(
    'changed-since-approval',
    `${file.relative} has changed since this change was approved; nothing was written. Read it again and make the change anew.`,
  )
}

function diffOf(file: ResolvedPath, before: LoadedFile | undefined, after: Buffer): FileDiff {
  const [old, now] = [before?.bytes ?? Buffer.alloc(0), after].map((bytes) => (isUtf16(bytes) ? utf8Of(bytes) : bytes))
  return unifiedDiff(file.relative, old!, now!)
}

function capped(diff: string, maxChars: number): string {
  return diff.length <= maxChars ? diff : `${headOf(diff, maxChars)}\n... [${diff.length - maxChars} more characters]`
}

function missing(file: ResolvedPath): never {
  throw new RuntimeError('not-found', `${file.relative} was removed by another program right after it was written.`)
}

/** A reader sees the old file or the new one. No fsync: after a kill the page cache still has it, and a power cut is git's business. */
export async function replaceFile(file: ResolvedPath, bytes: Buffer, stat: FileStat | undefined): Promise<void> {
  if (stat && (stat.mode & 0o222) === 0) {
    throw new RuntimeError('not-writable', `${file.relative} is read-only. Nothing was written.`)
  }
  const folder = dirname(file.path)
  try {
    if (!existsSync(folder)) mkdirSync(folder, { recursive: true })
    await inFolder(file, folder, (held) => replaceIn(held, basename(file.path), bytes, stat))
  } catch (error) {
    throw platformError(error) === 'EEXIST' ? translatedFolder(error, file) : translated(error, file)
  }
}

// Linux's O_PATH: a folder that may be written but not listed can be held as well.
const holding = process.platform === 'linux' ? 0o10000000 : constants.O_RDONLY

async function replaceIn(folder: string, name: string, bytes: Buffer, stat: FileStat | undefined): Promise<void> {
  const temporary = join(folder, `.troupe-${randomBytes(8).toString('hex')}.tmp`)
  try {
    await writeNew(temporary, bytes, stat)
    renameSync(temporary, join(folder, name))
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined) // The first error is the one to tell.
    throw error
  }
}

/**
 * Works in a folder held open: one swapped for a link after the path was judged would lead the write elsewhere. Where there
 * is no /proc to name what is held, the folder is only looked at before.
 */
async function inFolder(file: ResolvedPath, folder: string, work: (held: string) => Promise<void>): Promise<void> {
  const fd = openSync(folder, holding | constants.O_DIRECTORY)
  try {
    if (realpathSync.native(folder) !== folder || !isSame(fd, folder)) {
      throw new RuntimeError('bad-path', `The folder of ${file.relative} changed meanwhile; nothing was written.`)
    }
    await work(existsSync('/proc/self/fd') ? `/proc/self/fd/${fd}` : folder)
  } finally {
    closeSync(fd)
  }
}

async function writeNew(path: string, bytes: Buffer, stat: FileStat | undefined): Promise<void> {
  const options = { flag: 'wx', mode: stat?.mode ?? 0o666 }
  if (bytes.length <= maxSyncBytes) writeFileSync(path, bytes, options)
  else await writeFile(path, bytes, options)
  if (!stat) return
  if (stat.uid !== process.getuid?.() || stat.gid !== process.getgid?.()) keepOwner(path, stat)
  chmodSync(path, stat.mode) // After chown, which clears setuid; past the umask, which open respects.
}

function keepOwner(path: string, { uid, gid }: FileStat): void {
  try {
    chownSync(path, uid, gid)
  } catch {
    // Only root may give files away; anyone else's edit makes the file their own, as an editor does.
  }
}

function translatedFolder(error: unknown, file: ResolvedPath): RuntimeError {
  const message = `${file.relative} cannot be made: a part of its path is a file, not a folder.`
  return new RuntimeError('not-found', message, { cause: error })
}
