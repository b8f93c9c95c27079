import { closeSync, constants } from 'node:fs'
import type { Clock } from '../core/clock.ts'
import type { JournalRecord, RecordBody } from '../core/records.ts'
import { type DamageReport, reportDamage, setDamageAside } from './damage.ts'
import type { Disk } from './disk.ts'
import type { OpenFile, OpenFiles } from './open-files.ts'
import { encodeLine } from './record-line.ts'
import { type Scan, scanJournal } from './scan-journal.ts'
import { changedUnderUs, errnoOf, storageError } from './storage-error.ts'
import type { SyncTarget } from './sync-queue.ts'

/**
 * The journal of a session whose lock we hold: what is needed to append to it. `end` is the offset after the last good
 * record; with `mustCut` the file may hold more, which goes before the next append.
 */
export type Journal = OpenFile &
  SyncTarget & { kind: 'journal'; end: number; lastSeq: number; mustCut: boolean; released: boolean }

type OnRecord = (record: JournalRecord) => void

/** What journals of one store share. */
export type JournalAccess = { disk: Disk; files: OpenFiles; clock: Clock; onDamage: (report: DamageReport) => void }

/** Reads a journal that somebody else may own, and changes nothing. A journal that does not exist has no records. */
export function readJournal(path: string, access: JournalAccess): JournalRecord[] {
  const records: JournalRecord[] = []
  withScan({ path, access, onRecord: (record) => records.push(record) }, (fd, { damages }) => {
    if (damages.length > 0) reportDamage({ fd, path, damages }, access.onDamage)
  })
  return records
}

/** Reads again what has been recovered or appended before. */
export function rereadJournal({ path, end }: Journal, access: JournalAccess): JournalRecord[] {
  const records: JournalRecord[] = []
  withScan({ path, access, end, onRecord: (record) => records.push(record) }, (fd, { damages }) => {
    if (damages.length > 0) setDamageAside({ fd, path, damages }, access.onDamage)
  })
  return records
}

/** Reads a journal of ours, sets aside what is damaged, and finds where the next record goes. */
export function recoverJournal(path: string, access: JournalAccess, onRecord?: OnRecord): Journal {
  const journal: Journal = {
    kind: 'journal',
    path,
    fd: undefined,
    pins: 0,
    changes: 0,
    onDisk: 0,
    end: 0,
    lastSeq: 0,
    mustCut: false,
    released: false,
  }
  withScan({ path, access, onRecord }, (fd, { damages, end, lastSeq, size }) => {
    const kept = damages.length === 0 || setDamageAside({ fd, path, damages }, access.onDamage)
    // Damaged lines at the very end are cut off like a torn one, but only once there is a copy of them.
    journal.end = kept ? end : Math.max(end, damages.at(-1)!.to)
    journal.lastSeq = lastSeq
    journal.mustCut = size > journal.end
    journal.changes = 1 // An earlier process may have died before it synced.
  })
  return journal
}

function withScan(
  { path, access, end, onRecord }: { path: string; access: JournalAccess; end?: number; onRecord?: OnRecord },
  use: (fd: number, scan: Scan) => void,
): void {
  let fd: number | undefined
  try {
    fd = access.files.openApart(path, constants.O_RDONLY)
    use(fd, scanJournal({ fd, path, size: end ?? access.disk.stat(fd).size }, onRecord))
  } catch (error) {
    if (fd !== undefined || errnoOf(error) !== 'ENOENT') throw storageError('read', path, error)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** True for a journal without a file on the disk, as far as we have seen. */
export function isUnwritten(journal: Journal): boolean {
  return journal.changes === 0
}

/**
 * Writes the records behind each other in one go and returns them with their seq. They are there after a `kill -9` of us,
 * or none of them is: what a failed write leaves behind is cut off. The caller marks the journal for syncing.
 */
export function appendToJournal(journal: Journal, bodies: RecordBody[], access: JournalAccess): JournalRecord[] {
  if (journal.failure !== undefined) throw journal.failure
  const at = access.clock.now()
  const records = bodies.map((body, index) => {
    const seq = journal.lastSeq + 1 + index
    return Object.assign({ seq, at }, body, { seq, at }) as JournalRecord
  })
  const bytes = Buffer.from(records.map(encodeLine).join(''))
  try {
    const fd = access.files.use(journal, isUnwritten(journal) ? creating : writing)
    cutEnd(journal, fd, access.disk)
    assertOurs(journal, fd, access.disk)
    writeAll(journal, fd, bytes, access.disk)
  } catch (error) {
    throw storageError('write', journal.path, error)
  }
  journal.end += bytes.length
  journal.lastSeq += records.length
  return records
}

const writing = constants.O_RDWR
const creating = constants.O_RDWR | constants.O_CREAT

/** Cuts off what no record can be read from. */
function cutEnd(journal: Journal, fd: number, disk: Disk): void {
  if (!journal.mustCut) return
  disk.truncate(fd, journal.end)
  journal.mustCut = false
}

/** Fails for good when the file is no longer ours alone. */
function assertOurs(journal: Journal, fd: number, disk: Disk): void {
  const { nlink, size } = disk.stat(fd)
  if (nlink > 0 && (size === journal.end || journal.mustCut)) return
  journal.failure = changedUnderUs(journal.path, nlink === 0 ? 'deleted' : 'changed')
  throw journal.failure
}

function writeAll(journal: Journal, fd: number, bytes: Buffer, disk: Disk): void {
  try {
    for (let done = 0; done < bytes.length; ) {
      const count = disk.write(fd, bytes, done, bytes.length - done, journal.end + done)
      if (count === 0) throw Object.assign(new Error('nothing was written'), { code: 'ENOSPC' })
      done += count
    }
  } catch (error) {
    journal.mustCut = true
    try {
      cutEnd(journal, fd, disk)
    } catch {
      // It is tried again before the next append; a reader drops the torn record as well.
    }
    throw error
  }
}

/** Brings all that was appended to the disk. A journal whose sync failed takes no more records: what it holds is unknown. */
export async function syncJournal(journal: Journal, { disk, files }: JournalAccess): Promise<void> {
  journal.pins += 1
  try {
    const fd = files.use(journal, writing)
    await disk.sync(fd)
    if (!journal.released) assertOurs(journal, fd, disk)
  } catch (error) {
    throw storageError('sync', journal.path, error)
  } finally {
    journal.pins -= 1
  }
}
