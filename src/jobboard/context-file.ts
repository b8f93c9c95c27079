import type { SessionId } from '../core/ids.ts'
import type { BoardChange, Stamp } from './board-change.ts'
import { addRange, type LineRange } from './line-ranges.ts'
import { PersistentMap } from './persistent-map.ts'

/** A file that sessions have in their context. `stale`: that reader knows an older content. Sessions in the order of ids. */
export type ContextFile = {
  path: string
  readers: { session: SessionId; hash: string; lines?: LineRange[]; stale: boolean }[]
  writers: { session: SessionId; hash: string }[]
  /** Of the newest content that is known. */
  hash: string
}

/** When a content was seen first and written last, and by whom. */
type Sighting = { first: Mark; wrote?: Mark }
type Mark = Stamp & { session: SessionId }

export type Reader = { hash: string; lines?: LineRange[] }

export type FileEntry = {
  path: string
  /** The newest content. */
  current: { hash: string; mark: Mark; wrote: boolean }
  sightings: PersistentMap<Sighting>
  readers: PersistentMap<Reader>
  writers: PersistentMap<string>
}

type Touched = Extract<BoardChange, { type: 'file.touched' }>

const maxSightings = 16

/**
 * Takes a touch in. Newest is the content that was written last, or seen first, at the latest time: a read that was
 * recorded late, of content that is known to be old, does not bring it back. So the order of touches of different
 * sessions does not matter.
 */
export function touchFile(entry: FileEntry | undefined, { session, touch, stamp }: Touched): FileEntry {
  const mark: Mark = { ...stamp, session }
  const { path, hash, kind } = touch
  const sightings = sight(entry?.sightings ?? PersistentMap.empty(), hash, mark, kind === 'write')
  const readers = entry?.readers ?? PersistentMap.empty<Reader>()
  const writers = entry?.writers ?? PersistentMap.empty<string>()
  return {
    path,
    sightings,
    current: newestOf(sightings),
    readers: readers.set(session, readAgain(readers.get(session), touch)),
    writers: kind === 'write' ? writers.set(session, hash) : writers,
  }
}

/** Takes in a content that is there now and that no session has read or written. */
export function findFile(entry: FileEntry, hash: string, mark: Mark): FileEntry {
  if (entry.current.hash === hash) return entry
  const sightings = sight(entry.sightings, hash, mark, false)
  return { ...entry, sightings, current: newestOf(sightings) }
}

export function isStale({ current }: FileEntry, reader: Reader): boolean {
  return reader.hash !== current.hash
}

/** Undefined when nobody has it in context any more. */
export function forgetReader(entry: FileEntry, session: SessionId): FileEntry | undefined {
  const readers = entry.readers.delete(session)
  return readers.size === 0 ? undefined : { ...entry, readers, writers: entry.writers.delete(session) }
}

export function contextFileOf(entry: FileEntry): ContextFile {
  const readers = [...entry.readers.entries()].map(([session, reader]) => ({
    session: session as SessionId,
    hash: reader.hash,
    ...(reader.lines && { lines: reader.lines }),
    stale: isStale(entry, reader),
  }))
  const writers = [...entry.writers.entries()].map(([session, hash]) => ({ session: session as SessionId, hash }))
  return {
    path: entry.path,
    readers: readers.sort(bySession),
    writers: writers.sort(bySession),
    hash: entry.current.hash,
  }
}

function bySession(one: { session: SessionId }, other: { session: SessionId }): number {
  return one.session < other.session ? -1 : 1
}

// A session's own writes count as reads: it knows the new content, and of the lines those that it knew.
function readAgain(known: Reader | undefined, { kind, hash, lines }: Touched['touch']): Reader {
  if (kind === 'write') return { ...known, hash }
  const before = known?.hash === hash ? known.lines : undefined
  return lines === undefined ? { hash } : { hash, lines: addRange(before ?? [], lines) }
}

function sight(
  sightings: PersistentMap<Sighting>,
  hash: string,
  mark: Mark,
  isWrite: boolean,
): PersistentMap<Sighting> {
  const known = sightings.get(hash)
  const first = known === undefined || isLater(known.first, mark) ? mark : known.first
  const wrote = isWrite && (known?.wrote === undefined || isLater(mark, known.wrote)) ? mark : known?.wrote
  const next = sightings.set(hash, wrote === undefined ? { first } : { first, wrote })
  return next.size > maxSightings ? next.delete(oldestOf(next)) : next
}

function newestOf(sightings: PersistentMap<Sighting>): FileEntry['current'] {
  let newest: FileEntry['current'] | undefined
  for (const [hash, sighting] of sightings.entries()) {
    const mark = markOf(sighting)
    if (newest === undefined || isLater(mark, newest.mark)) newest = { hash, mark, wrote: sighting.wrote === mark }
  }
  return newest!
}

function oldestOf(sightings: PersistentMap<Sighting>): string {
  const [first, ...rest] = [...sightings.entries()]
  return rest.reduce((oldest, other) => (isLater(markOf(oldest[1]), markOf(other[1])) ? other : oldest), first!)[0]
}

function markOf({ first, wrote }: Sighting): Mark {
  return wrote !== undefined && isLater(wrote, first) ? wrote : first
}

function isLater(one: Mark, other: Mark): boolean {
  const distance = one.at - other.at || one.seq - other.seq || one.n - other.n
  return distance === 0 ? one.session > other.session : distance > 0
}
