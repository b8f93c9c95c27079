import { Subject } from 'rxjs'
import type { Clock } from '../core/clock.ts'
import type { EventBody, RuntimeEvent } from '../core/events.ts'
import type { SessionIds } from './session-entry.ts'

export type EventStream = {
  readonly events$: Subject<RuntimeEvent>
  emit(about: SessionIds, body: EventBody): void
}

/** The outgoing stream: numbers events, and keeps a listener that throws from stopping the runtime or other listeners. */
export function createEventStream(clock: Clock): EventStream {
  const events$ = new Subject<RuntimeEvent>()
  let seq = 0
  return {
    events$,
    emit({ root, session }, body) {
      seq += 1
      // rxjs reports what a subscriber throws in a task of its own; the others still get the event.
      events$.next({ seq, at: clock.now(), root, session, ...body })
    },
  }
}
