import { resolve } from 'node:path'
import { systemClock } from './core/clock.ts'
import { RuntimeError } from './core/errors.ts'
import { parseSessionId, type SessionId } from './core/ids.ts'
import { type TranscriptLine, transcriptOf } from './session/transcript.ts'
import { createStore, type SessionListing, type Store } from './store/create-store.ts'
import { dataDir as defaultDataDir } from './store/data-dir.ts'

/** Root sessions, newest first; reads only, whoever else is at work on them. */
export function listSessions(dataDir?: string): SessionListing[] {
  return openStore(dataDir).list()
}

/** What was said and done in a session, a child's too. Throws `unknown-session`, `journal-damaged`. */
export function readTranscript(session: string, dataDir?: string): TranscriptLine[] {
  const store = openStore(dataDir)
  const lines = transcriptOf(store.read({ root: rootOf(store, session), session: parseSessionId(session) }))
  if (lines.length > 0) return lines
  throw new RuntimeError('journal-damaged', `Nothing of session ${session} can be read: its journal is damaged.`)
}

/** The journals of a data folder, for reading. */
export function openStore(dataDir?: string): Store {
  const onDamage = () => undefined // A reader changes nothing; who resumes the session is told.
  return createStore({ dataDir: dataDir ? resolve(dataDir) : defaultDataDir(), clock: systemClock, onDamage })
}

/** The root of a session's tree. Throws `unknown-session`. */
export function rootOf(store: Store, session: string): SessionId {
  const root = store.findRoot(parseSessionId(session))
  if (root) return root
  throw new RuntimeError('unknown-session', `There is no session ${session}. List them: troupe sessions`)
}
