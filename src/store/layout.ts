import { join } from 'node:path'
import { parseSessionId, type SessionId } from '../core/ids.ts'

/** A session and the root session of its tree. */
export type SessionRef = { root: SessionId; session: SessionId }

/** Folder of all root sessions. */
export function sessionsDir(dataDir: string): string {
  return join(dataDir, 'sessions')
}

/** Folder of one root session: the journals of its tree and its lock. */
export function rootDir(dataDir: string, root: SessionId): string {
  return join(sessionsDir(dataDir), parseSessionId(root))
}

export function journalPath(dataDir: string, { root, session }: SessionRef): string {
  return join(rootDir(dataDir, root), `${parseSessionId(session)}.jsonl`)
}

export function lockPath(dataDir: string, root: SessionId): string {
  return join(rootDir(dataDir, root), 'lock')
}

/** Every id that could be the root of a session, the likeliest first: itself, then ever shorter beginnings. */
export function possibleRoots(session: SessionId): SessionId[] {
  const roots = [session]
  for (let dash = session.lastIndexOf('-'); dash > 0; dash = session.lastIndexOf('-', dash - 1)) {
    roots.push(session.slice(0, dash) as SessionId)
  }
  return roots
}
