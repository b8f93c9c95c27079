import { join, resolve } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { RuntimeError } from '../core/errors.ts'
import type { SessionId } from '../core/ids.ts'
import type { JournalRecord, RecordBody } from '../core/records.ts'
import type { DamageReport } from './damage.ts'
import { type Disk, systemDisk } from './disk.ts'
import { createFaultPoint } from './fault-point.ts'
import { makeFolder, syncFolders } from './folders.ts'
import {
  appendToJournal,
  isUnwritten,
  type Journal,
  readJournal,
  recoverJournal,
  rereadJournal,
  syncJournal,
} from './journal.ts'
import { journalPath, lockPath, possibleRoots, rootDir, type SessionRef, sessionsDir } from './layout.ts'
import { hasRecord, idsIn, listSessions, type SessionListing } from './list-sessions.ts'
import { acquireLock } from './lock.ts'
import { createOpenFiles } from './open-files.ts'
import { createSyncQueue, type SyncTarget } from './sync-queue.ts'

export type { SessionListing, SessionRef }

export type StoreOptions = {
  dataDir: string
  clock: Clock
  /** Told once of each damage: lines that cannot be read, or a journal whose sync failed in the background. */
  onDamage: (damage: DamageReport) => void
  /** For tests that need a failing disk. */
  disk?: Disk
}

/** The journals of one data folder. Any number of stores share a folder; each root session has one owner. */
export interface Store {
  readonly dataDir: string
  /** Folder of what files were before they were written, by hash; not made. */
  readonly snapshotDir: string
  /** Takes the lock of a root session and makes its folder. Throws `session-locked` while anybody holds it, this store included. */
  lockRoot(root: SessionId): { release(): void }
  /** The root of a session that has a journal. */
  findRoot(session: SessionId): SessionId | undefined
  exists(ref: SessionRef): boolean
  /**
   * Writes records at once, all or none; they survive a `kill -9` when this returns. Needs the root's lock. Throws
   * `storage-full` (works again when there is room), `storage-failed`, `journal-newer`.
   */
  append(ref: SessionRef, bodies: RecordBody[]): JournalRecord[]
  /** Resolves when all that was appended so far is on the disk; rejects with `storage-failed`. */
  synced(ref: SessionRef): Promise<void>
  /** All records, oldest first; none for an unknown session. Repairs only with the root's lock, else changes nothing. */
  read(ref: SessionRef): JournalRecord[]
  /** Bytes of a journal whose root we own, once it was read or written; else 0. */
  bytesOf(ref: SessionRef): number
  /** Sessions of a root's tree that have a journal: the root first, then by name. */
  sessionsOf(root: SessionId): SessionId[]
  /** Root sessions, newest first; changes nothing. */
  list(): SessionListing[]
  /** Folder for a session's spilled outputs; not made. */
  outputDir(session: SessionId): string
  /** Syncs and closes everything and releases all locks. Never rejects; what fails goes to `onDamage`. */
  close(): Promise<void>
}

/** A root session that we own. As a target it stands for its folder: the names of new journals. */
type OwnedRoot = SyncTarget & {
  kind: 'root'
  path: string
  /** Folders to sync, innermost first. */
  folders: string[]
  lock: { release(): void }
  journals: Map<SessionId, Journal>
}

const maxOpenFiles = 128
/** Leaves time for the sync itself within the 50 ms after which everything is to be on the disk. */
const syncDelayMs = 40
const syncWidth = 2

/** Opens nothing until it is used; must be closed. */
export function createStore(options: StoreOptions): Store {
  const { clock, disk = systemDisk } = options
  const dataDir = resolve(options.dataDir)
  const roots = new Map<SessionId, OwnedRoot>()
  const files = createOpenFiles(maxOpenFiles)
  const onDamage = reportOnce(options.onDamage)
  const access = { disk, files, clock, onDamage }
  const queue = createSyncQueue<Journal | OwnedRoot>({
    clock,
    delayMs: syncDelayMs,
    width: syncWidth,
    sync: (target) => (target.kind === 'journal' ? syncJournal(target, access) : syncRoot(target)),
    onFailure: ({ path }, { message }) => onDamage({ path, message }),
  })
  const faultPoint = createFaultPoint()
  let closing: Promise<void> | undefined

  async function syncRoot(root: OwnedRoot): Promise<void> {
    await syncFolders(root.folders, files)
    root.folders = [root.path]
  }

  function lockRoot(root: SessionId): { release(): void } {
    assertOpen()
    const path = rootDir(dataDir, root)
    const folders = makeFolder(path, sessionsDir(dataDir))
    const lock = acquireLock(lockPath(dataDir, root), clock.now())
    const owned: OwnedRoot = { kind: 'root', path, folders, lock, journals: new Map(), changes: 1, onDisk: 0 }
    roots.set(root, owned)
    return { release: () => release(root, owned) }
  }

  /** Records that are not on the disk yet still get there. */
  function release(root: SessionId, owned: OwnedRoot): void {
    if (roots.get(root) !== owned) return
    roots.delete(root)
    for (const journal of owned.journals.values()) {
      journal.released = true
      if (journal.pins === 0) files.close(journal)
    }
    owned.lock.release()
  }

  function append(ref: SessionRef, bodies: RecordBody[]): JournalRecord[] {
    const owned = ownedRoot(ref.root)
    const journal = journalOf(owned, ref)
    if (bodies.length === 0) return []
    const isNew = isUnwritten(journal)
    const records = appendToJournal(journal, bodies, access)
    queue.mark(journal)
    if (isNew) queue.mark(owned)
    faultPoint?.(records)
    return records
  }

  function ownedRoot(root: SessionId): OwnedRoot {
    assertOpen()
    const owned = roots.get(root)
    if (owned !== undefined) return owned
    throw new RuntimeError(
      'session-locked',
      `Take the lock of session ${root} before anything is appended to its tree.`,
    )
  }

  function journalOf(owned: OwnedRoot, ref: SessionRef): Journal {
    const known = owned.journals.get(ref.session)
    if (known !== undefined) return known
    const journal = recoverJournal(journalPath(dataDir, ref), access)
    owned.journals.set(ref.session, journal)
    return journal
  }

  function read(ref: SessionRef): JournalRecord[] {
    const path = journalPath(dataDir, ref)
    const owned = roots.get(ref.root)
    if (owned === undefined) return readJournal(path, access)
    const known = owned.journals.get(ref.session)
    if (known !== undefined) return isUnwritten(known) ? [] : rereadJournal(known, access)
    const records: JournalRecord[] = []
    owned.journals.set(
      ref.session,
      recoverJournal(path, access, (record) => records.push(record)),
    )
    return records
  }

  async function synced(ref: SessionRef): Promise<void> {
    const owned = roots.get(ref.root)
    const journal = owned?.journals.get(ref.session)
    if (owned === undefined || journal === undefined || isUnwritten(journal)) return
    await Promise.all([queue.wait(journal), queue.wait(owned)])
  }

  function exists(ref: SessionRef): boolean {
    const known = roots.get(ref.root)?.journals.get(ref.session)
    return (known !== undefined && known.lastSeq > 0) || hasRecord(journalPath(dataDir, ref))
  }

  async function finish(): Promise<void> {
    await queue.drain()
    files.closeAll()
    for (const [root, owned] of roots) release(root, owned)
  }

  function assertOpen(): void {
    if (closing !== undefined) throw new RuntimeError('store-closed', 'The store is closed. Create another to go on.')
  }

  return {
    dataDir,
    snapshotDir: join(dataDir, 'snapshots'),
    lockRoot,
    findRoot: (session) => possibleRoots(session).find((root) => exists({ root, session })),
    exists,
    append,
    synced,
    read,
    bytesOf: ({ root, session }) => roots.get(root)?.journals.get(session)?.end ?? 0,
    sessionsOf: (root) => idsIn(rootDir(dataDir, root), '.jsonl').filter((session) => exists({ root, session })),
    list: () => listSessions(dataDir),
    outputDir: (session) => join(dataDir, 'tool-output', session),
    close() {
      closing ??= finish()
      return closing
    },
  }
}

function reportOnce(report: (damage: DamageReport) => void): (damage: DamageReport) => void {
  const reported = new Set<string>()
  return (damage) => {
    if (reported.has(damage.message)) return
    reported.add(damage.message)
    report(damage)
  }
}
