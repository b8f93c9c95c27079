import { RuntimeError } from '../core/errors.ts'

/** What a failed access to `path` means for people: `storage-full` when room may come back, else `storage-failed`. */
export function storageError(doing: 'write' | 'read' | 'sync', path: string, cause: unknown): RuntimeError {
  if (cause instanceof RuntimeError) return cause
  const code = errnoOf(cause)
  const full = doing === 'write' && (code === 'ENOSPC' || code === 'EDQUOT')
  return new RuntimeError(
    full ? 'storage-full' : 'storage-failed',
    `Cannot ${doing} ${path}: ${remedies[code] ?? `the system says ${code}. ${otherwise}`}`,
    { cause },
  )
}

/** The system's name of an error, such as ENOENT. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error)
}

/** The journal was deleted or written to by something else while the session ran. */
export function changedUnderUs(path: string, how: 'deleted' | 'changed'): RuntimeError {
  return new RuntimeError(
    'storage-failed',
    `${path} was ${how} by another program while its session ran, so nothing more can be recorded there. ` +
      (how === 'deleted' ? 'Start the session anew.' : 'End this run and resume the session.'),
  )
}

const otherwise = 'Check the disk, then resume the session: what was recorded is kept.'

const remedies: Record<string, string> = {
  ENOSPC: 'the disk is full. Make room, then go on: what was recorded is kept.',
  EDQUOT: 'the disk quota is used up. Make room, then go on: what was recorded is kept.',
  EFBIG: `the file has reached the largest size allowed here. Raise the limit (ulimit -f), then resume the session.`,
  EROFS: 'the file system is read-only. Make it writable or set TROUPE_HOME to another folder.',
  EACCES: 'permission denied. Correct the permissions or set TROUPE_HOME to another folder.',
  EPERM: 'permission denied. Correct the permissions or set TROUPE_HOME to another folder.',
  ENOTDIR: 'a part of the path is no folder. Set TROUPE_HOME to another folder.',
  ENOENT: 'the folder is gone. If it was moved, set TROUPE_HOME to where it is now; if it was deleted, start anew.',
  ENAMETOOLONG: 'the name is too long for this file system. Start again with a shorter session id.',
  EMFILE: 'too many open files. Raise the limit (ulimit -n), then resume the session.',
  ENFILE: 'too many open files on this machine. Close some programs, then resume the session.',
}
