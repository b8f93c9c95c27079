import type { Clock } from '../core/clock.ts'
import type { EventBody } from '../core/events.ts'
import type { SessionId } from '../core/ids.ts'

type Partial = { turn: number; text: string; stale: boolean; cancel: () => void }

const everyMs = 1000

/** Gathers the text of replies that stream, and hands it on about once a second, so that a crash loses little of it. */
export function createPartials(clock: Clock, write: (session: SessionId, turn: number, text: string) => void) {
  const open = new Map<SessionId, Partial>()

  /** Blanks are no part of an answer. */
  function writeOne(session: SessionId, { turn, text }: Partial): void {
    if (text.trim() !== '') write(session, turn, text)
  }

  function schedule(session: SessionId): () => void {
    return clock.after(everyMs, () => {
      const partial = open.get(session)
      if (!partial) return
      writeOne(session, partial)
      partial.cancel = schedule(session)
    })
  }

  function drop(session: SessionId): void {
    open.get(session)?.cancel()
    open.delete(session)
  }

  return {
    add(session: SessionId, event: Extract<EventBody, { type: 'text.delta' }>): void {
      const partial = open.get(session)
      if (partial?.turn === event.turn) {
        partial.text = partial.stale ? event.text : partial.text + event.text
        partial.stale = false
        return
      }
      drop(session)
      open.set(session, { turn: event.turn, text: event.text, stale: false, cancel: schedule(session) })
    },
    /** The model is asked again: what it says then takes the place of this. */
    retry(session: SessionId): void {
      const partial = open.get(session)
      if (partial) partial.stale = true
    },
    /** Writes what there is of a reply that was cut off, and forgets it. */
    flush(session: SessionId): void {
      const partial = open.get(session)
      if (partial) writeOne(session, partial)
      drop(session)
    },
    drop,
    close(): void {
      for (const session of [...open.keys()]) drop(session)
    },
  }
}
