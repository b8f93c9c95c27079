import { Observable, Subject } from 'rxjs'
import type { JobId, SessionId } from '../core/ids.ts'
import type { BoardChange } from './board-change.ts'
import { type BoardState, contextFilesOf, emptyBoard, findRow, type JobRow, rowsOf, rowsUnder } from './board-state.ts'
import { boardText } from './board-text.ts'
import type { ContextFile } from './context-file.ts'
import { toArray } from './list.ts'
import { reduceBoard, type Stale } from './reduce-board.ts'

export type { BoardChange } from './board-change.ts'
export type { BoardState, JobRow } from './board-state.ts'
export type { ContextFile } from './context-file.ts'

/**
 * The live view of all jobs, and of which session read or wrote which file. The streams of rows and files begin with
 * what is there and then emit once per burst of changes (in a microtask), only when their part has changed.
 */
export interface Board {
  /** All jobs in the order of their launch. */
  readonly jobs$: Observable<JobRow[]>
  /** One job; completes when it is forgotten. */
  job$(job: JobId): Observable<JobRow>
  /** The children of one session, in the order of their launch. */
  forParent$(session: SessionId): Observable<JobRow[]>
  contextFiles$(path?: string): Observable<ContextFile[]>
  /** At once: a session learns that what it knows of a file is old. */
  readonly stale$: Observable<Stale>
  /** At once, each change as it was applied. */
  readonly changes$: Observable<BoardChange>
  snapshot(): BoardState
  /** Jobs of one root, or all, in the order of their launch. */
  rows(root?: SessionId): JobRow[]
  contextFiles(path?: string): ContextFile[]
  /** Paths of the files that a session has in its context, in the order of the first touch. */
  filesOf(session: SessionId): string[]
  /** Returns who learns by it that a file has changed. Does nothing once the board is closed. */
  apply(change: BoardChange): Stale[]
  /** The text for the model of one session, '' when there is nothing to say. Each changed file is told of once. */
  textFor(session: SessionId, dir: string, maxChars?: number): string
  /** Forgets a root and all sessions under it, files included. */
  forgetRoot(root: SessionId): void
  /** Completes all streams. */
  close(): void
}

/** A board that knows nothing yet. Close it. */
export function createBoard(): Board {
  let state = emptyBoard
  let closed = false
  let announced = false
  const bursts = new Subject<void>()
  const changes = new Subject<BoardChange>()
  const stale = new Subject<Stale>()

  function apply(change: BoardChange): Stale[] {
    if (closed) return []
    const reduced = reduceBoard(state, change)
    state = reduced.state
    changes.next(change)
    for (const one of reduced.stale) stale.next(one)
    announce()
    return reduced.stale
  }

  function announce(): void {
    if (announced || !bursts.observed) return
    announced = true
    queueMicrotask(() => {
      announced = false
      bursts.next()
    })
  }

  /** Emits what `read` gives when it has become another; completes when there was something and it is gone. */
  function watch<Value>(read: () => Value | undefined, isSame = Object.is): Observable<Value> {
    return new Observable((subscriber) => {
      let seen: Value | undefined
      const look = () => {
        const now = read()
        if (isSame(seen, now)) return
        seen = now
        if (now === undefined) subscriber.complete()
        else subscriber.next(now)
      }
      look()
      if (closed) subscriber.complete()
      else subscriber.add(bursts.subscribe({ next: look, complete: () => subscriber.complete() }))
    })
  }

  return {
    jobs$: watch(
      cached(
        () => state.jobs,
        () => rowsOf(state),
      ),
    ),
    job$: (job) => watch(() => findRow(state, job)),
    forParent$: (session) => watch(() => rowsUnder(state, session), sameItems),
    contextFiles$: (path) =>
      watch(
        cached(
          () => (path === undefined ? state.files : state.files.get(path)),
          () => contextFilesOf(state, path),
        ),
      ),
    stale$: stale.asObservable(),
    changes$: changes.asObservable(),
    snapshot: () => state,
    rows: (root) => rowsOf(state, root),
    contextFiles: (path) => contextFilesOf(state, path),
    filesOf: (session) => toArray(state.sessions.get(session)?.files),
    apply,
    textFor(session, dir, maxChars) {
      const { text, told } = boardText(state, session, dir, maxChars)
      if (told.length > 0) apply({ type: 'notices.taken', session, paths: told })
      return text
    },
    forgetRoot: (root) => apply({ type: 'root.forgotten', root }),
    close() {
      if (closed) return
      bursts.next()
      closed = true
      for (const subject of [bursts, changes, stale]) subject.complete()
    },
  }
}

/** Works a value out again only when what it is made from has become another. */
function cached<Value>(source: () => unknown, work: () => Value): () => Value {
  let last: { source: unknown; value: Value } | undefined
  return () => {
    const now = source()
    if (last === undefined || last.source !== now) last = { source: now, value: work() }
    return last.value
  }
}

function sameItems(one: unknown, other: unknown): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other
  return one.length === other.length && one.every((item, n) => item === other[n])
}
