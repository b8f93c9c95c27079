import { closeSync, existsSync, fstatSync, openSync, readdirSync } from 'node:fs'
import { parseSessionId, type SessionId } from '../core/ids.ts'
import { type JournalRecord, journalVersion } from '../core/records.ts'
import { journalPath, lockPath, sessionsDir } from './layout.ts'
import { findHolder } from './lock.ts'
import { findSeq, parseRecord } from './record-line.ts'
import { readLines } from './scan-journal.ts'
import { errnoOf, storageError } from './storage-error.ts'

/**
 * A root session as lists show it. Times are wall-clock milliseconds; `prompt` is the beginning of the first user text,
 * on one line; `lockedBy` is the pid that runs it; `damaged` says what a person should know.
 */
export type SessionListing = {
  session: SessionId
  agent: string
  dir: string
  model: string
  createdAt: number
  updatedAt: number
  prompt: string
  lockedBy?: number
  damaged?: string
}

const headSizes = [64 * 1024, 1024 * 1024, 16 * 1024 * 1024]
const tailBytes = 64 * 1024
const promptLength = 80

/** All root sessions with a journal, newest first. Reads only the beginning and the end of each; changes nothing. */
export function listSessions(dataDir: string): SessionListing[] {
  return idsIn(sessionsDir(dataDir), '')
    .map((root) => listSession(dataDir, root))
    .filter((listing) => listing !== undefined)
    .sort((a, b) => b.createdAt - a.createdAt || (a.session < b.session ? -1 : 1))
}

/** Session ids named by the entries of a folder that end in `suffix`, in order; none when there is no such folder. */
export function idsIn(folder: string, suffix: string): SessionId[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(suffix))
      .map((name) => name.slice(0, name.length - suffix.length))
      .filter(isSessionId)
      .sort()
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw storageError('read', folder, error)
  }
}

function isSessionId(name: string): name is SessionId {
  try {
    return parseSessionId(name) === name
  } catch {
    return false // A stray file.
  }
}

/** True when the journal holds a whole line; a file that was cut within its first record counts as never written. */
export function hasRecord(path: string): boolean {
  return withFile(path, (fd, size) => readHead(fd, size, 1).length > 0) ?? false
}

function listSession(dataDir: string, root: SessionId): SessionListing | undefined {
  const path = journalPath(dataDir, { root, session: root })
  const listing = withFile(path, (fd, size, changedAt) => {
    const head = readHead(fd, size, 2)
    return head.length === 0 ? undefined : describe(root, head, lastChange(fd, size) ?? changedAt)
  })
  if (listing === undefined) return undefined
  if (existsSync(`${path}.damaged-1`))
    listing.damaged ??= `Some records were lost; what was left of them is in ${path}.damaged-1`
  const holder = findHolder(lockPath(dataDir, root))
  if (holder !== undefined) listing.lockedBy = holder.pid
  return listing
}

function withFile<Result>(
  path: string,
  use: (fd: number, size: number, changedAt: number) => Result,
): Result | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, 'r')
    const { size, mtimeMs } = fstatSync(fd)
    return use(fd, size, Math.round(mtimeMs))
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return undefined
    throw storageError('read', path, error)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** The first lines; reads on until there are `atLeast` of them or the limit is reached. */
function readHead(fd: number, size: number, atLeast: number): Buffer[] {
  let lines: Buffer[] = []
  for (const bytes of headSizes) {
    lines = readLines({ fd, from: 0, to: Math.min(size, bytes) })
    if (lines.length >= atLeast || bytes >= size) break
  }
  return lines
}

function lastChange(fd: number, size: number): number | undefined {
  const lines = readLines({ fd, from: Math.max(0, size - tailBytes), to: size })
  const last = lines.findLast((line) => findSeq(line) !== undefined)
  return last === undefined ? undefined : parseRecord(last).at
}

function describe(session: SessionId, head: Buffer[], updatedAt: number): SessionListing {
  const records = head.filter((line) => findSeq(line) !== undefined).map(parseRecord)
  const listing = {
    session,
    agent: '',
    dir: '',
    model: '',
    createdAt: updatedAt,
    updatedAt,
    prompt: firstPrompt(records),
  }
  const [first] = records
  if (first?.type !== 'session.created') return { ...listing, damaged: 'Its first record cannot be read.' }
  if (first.version > journalVersion) {
    return { ...listing, createdAt: first.at, damaged: `Written by a newer troupe (journal version ${first.version}).` }
  }
  const { agent, dir, model } = first.seed
  return { ...listing, agent: agent.name, dir, model, createdAt: first.at }
}

function firstPrompt(records: JournalRecord[]): string {
  for (const record of records) {
    if (record.type === 'message.received' && record.message.kind === 'user') return shorten(record.message.text)
  }
  return ''
}

function shorten(text: string): string {
  const characters = [...text.slice(0, 1000).replace(/\s+/g, ' ').trim()]
  return characters.length <= promptLength ? characters.join('') : `${characters.slice(0, promptLength - 1).join('')}…`
}
