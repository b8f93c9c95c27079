import type { JournalRecord } from '../core/records.ts'
import type { SessionState } from '../core/state.ts'
import { applyRecord, fold } from '../session/fold.ts'
import type { Store } from '../store/create-store.ts'
import { refOf, type SessionEntry } from './session-entry.ts'

/**
 * States of sessions that have come to rest and were woken: they will be again, and to read and fold a whole journal each
 * time would cost more the longer it is. What is kept here always equals `fold(journal)`.
 */
export type FoldedStates = {
  /** The state of a session now. It goes on changing with the session: hand on copies only. */
  of(entry: SessionEntry): SessionState
  /** Records that have just been appended to a session's journal. */
  add(entry: SessionEntry, records: JournalRecord[]): void
  drop(entry: SessionEntry): void
}

/** Of the journals whose states are kept; a state takes about as much memory as its journal takes on the disk. */
const defaultMaxBytes = 16 * 1024 * 1024

export function createFoldedStates(store: Store, maxBytes = defaultMaxBytes): FoldedStates {
  /** The one that was used last comes last. */
  const kept = new Map<SessionEntry, { state: SessionState; bytes: number }>()
  let total = 0

  function of(entry: SessionEntry): SessionState {
    const known = kept.get(entry)?.state
    if (known?.lastSeq === entry.lastSeq) {
      keep(entry, known)
      return known
    }
    // A session at its first start has its journal at hand. Most are not woken a second time: those are not kept.
    if (entry.fresh) return fold(entry.fresh)
    const state = fold(store.read(refOf(entry)))
    keep(entry, state)
    return state
  }

  function add(entry: SessionEntry, records: JournalRecord[]): void {
    const known = kept.get(entry)
    if (!known) return
    for (const record of records) applyRecord(known.state, record)
    if (known.state.phase === 'ended') drop(entry)
    else keep(entry, known.state)
  }

  function keep(entry: SessionEntry, state: SessionState): void {
    drop(entry)
    const bytes = store.bytesOf(refOf(entry))
    kept.set(entry, { state, bytes })
    total += bytes
    for (const oldest of kept.keys()) {
      if (total <= maxBytes) return
      drop(oldest)
    }
  }

  function drop(entry: SessionEntry): void {
    total -= kept.get(entry)?.bytes ?? 0
    kept.delete(entry)
  }

  return { of, add, drop }
}
