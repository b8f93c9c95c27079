import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { RuntimeError } from '../core/errors.ts'
import { isRunning, ownIdentity, type ProcessIdentity } from './process-identity.ts'
import { errnoOf, storageError } from './storage-error.ts'

/** What a lock file holds: its owner, when it was taken, and a nonce that makes each lock unlike any other. */
export type LockContent = ProcessIdentity & { at: number; nonce: string }

/**
 * Takes the lock file at `path`; its folder must exist. Throws `session-locked` when a running process holds it. The lock
 * of a dead process is taken over, by one taker only however many try.
 */
export function acquireLock(path: string, at: number): { release(): void } {
  const content: LockContent = { ...ownIdentity(), at, nonce: randomBytes(8).toString('hex') }
  const text = `${JSON.stringify(content)}\n`
  try {
    take(path, text)
  } catch (error) {
    throw storageError('write', path, error)
  }
  return { release: () => releaseLock(path, text) }
}

/** The running process that holds the lock; undefined when nobody does. */
export function findHolder(path: string): LockContent | undefined {
  const holder = parseLock(readIfThere(path))
  return holder !== undefined && isRunning(holder) ? holder : undefined
}

function take(path: string, text: string): void {
  while (!createWhole(path, text)) {
    const found = readSettled(path)
    if (found === undefined) continue
    const holder = parseLock(found)
    if (holder !== undefined && isRunning(holder)) throw heldBy(holder, path)
    if (takeOver(path, found, text)) return
  }
}

/**
 * Replaces the lock of a dead owner. A bare "remove and create" lets a slow taker remove the lock of a quick one, so a
 * taker first takes a claim on this very lock, named for its content, and then looks again: with the claim in hand nobody
 * else may replace it. The claim is a lock as well, so a taker that died on the way is taken over in the same manner.
 */
function takeOver(path: string, found: string, text: string): boolean {
  const claim = `${path}.over-${crc32(found).toString(16)}`
  take(claim, text)
  try {
    if (readIfThere(path) !== found) return false
    const whole = writeBeside(path, text)
    renameSync(whole, path)
    return true
  } finally {
    rmSync(claim, { force: true })
  }
}

/** Creates the file with its content in one step; false when it exists. */
function createWhole(path: string, text: string): boolean {
  const whole = writeBeside(path, text)
  try {
    linkSync(whole, path)
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    if (!noLinks.has(errnoOf(error))) throw error
    return createPlainly(path, text)
  } finally {
    unlinkSync(whole)
  }
}

/** File systems without hard links (FAT, some network shares): a reader may see the file before its content. */
const noLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

function createPlainly(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
}

function writeBeside(path: string, text: string): string {
  const beside = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(beside, text, { flag: 'wx', mode: 0o600 })
    return beside
  } catch (error) {
    rmSync(beside, { force: true }) // A full disk leaves it empty.
    throw error
  }
}

/** What the lock file holds. One that makes no sense is read again a little later: its owner may be writing it. */
function readSettled(path: string): string | undefined {
  const found = readIfThere(path)
  if (found === undefined || parseLock(found) !== undefined) return found
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  return readIfThere(path)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function parseLock(text: string | undefined): LockContent | undefined {
  try {
    const content: unknown = JSON.parse(text ?? '')
    return isLockContent(content) ? content : undefined
  } catch {
    return undefined // Empty or garbage after a power loss: nobody's.
  }
}

function isLockContent(content: unknown): content is LockContent {
  if (typeof content !== 'object' || content === null) return false
  if (!('pid' in content) || !Number.isInteger(content.pid) || Number(content.pid) <= 0) return false
  return 'host' in content && typeof content.host === 'string'
}

function releaseLock(path: string, text: string): void {
  try {
    if (readIfThere(path) === text) unlinkSync(path)
  } catch {
    // The folder is gone or read-only; a lock whose owner has ended counts for nothing.
  }
}

function heldBy({ pid, host }: LockContent, path: string): RuntimeError {
  const where = host === ownIdentity().host ? '' : ` on ${host} (if it has ended, delete ${path})`
  return new RuntimeError(
    'session-locked',
    `The session is in use by process ${pid}${where}. Wait for it to end, end it, or start another session.`,
  )
}
