import { mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type SecurityPart, securityParts, sha256 } from './security-parts.ts'

/** What the user has said of a folder; `changed`: files that are not as they were then, relative to the worktree. */
export type TrustState = {
  trusted: boolean
  /** The user was asked about exactly this, and said no. */
  refused: boolean
  changed: string[]
  parts: SecurityPart[]
}

/** `config` is of records that name the configuration alone; `parts` maps paths to hashes. */
type TrustRecord = { worktree?: unknown; config?: unknown; parts?: unknown; refused?: unknown }

/**
 * Whether the user has trusted this folder with what it brings now. A file that decides what may be done, and is new or
 * another than it was, must be trusted anew. `dir`: where the program was started, inside the worktree.
 */
export async function isTrusted(dataDir: string, worktree: string, dir = worktree): Promise<boolean> {
  return (await loadGivenTrust(dataDir, worktree, dir)).trusted
}

/** As `loadTrust`; but of a folder of which nothing has been said, nothing is read. */
export async function loadGivenTrust(dataDir: string, worktree: string, dir = worktree): Promise<TrustState> {
  const real = await realpath(worktree)
  const isKnown = parseRecord(await bytesOf(recordPath(dataDir, real)))?.worktree === real
  return isKnown ? loadTrust(dataDir, worktree, dir) : { trusted: false, refused: false, changed: [], parts: [] }
}

/** The same with what it is about. Reads the project's files, runs nothing. */
export async function loadTrust(dataDir: string, worktree: string, dir = worktree): Promise<TrustState> {
  const real = await realpath(worktree)
  const record = parseRecord(await bytesOf(recordPath(dataDir, real)))
  const parts = securityParts(real, dir === worktree ? real : dir)
  if (record?.worktree !== real) return { trusted: false, refused: false, changed: [], parts }
  const isOld = record.refused !== true && record.parts === undefined
  const known = isOld ? fromConfig(record, parts) : asMap(record.parts)
  const changed = parts.filter(({ path, hash }) => known.get(path) !== hash).map(({ path }) => path)
  if (record.refused === true) return { trusted: false, refused: changed.length === 0, changed: [], parts }
  const trusted = changed.length === 0
  // From now on changes of the rest are seen too; where it cannot be written the old record goes on.
  if (isOld && trusted) await trust(dataDir, worktree, dir).catch(() => {})
  return { trusted, refused: false, changed, parts }
}

/** Trusts a folder with what it brings now. Rejects where the record cannot be written. */
export function trust(dataDir: string, worktree: string, dir = worktree): Promise<void> {
  return writeRecord(dataDir, { worktree, dir, refused: false })
}

/** Keeps that the user was asked about what the folder brings now, and said no. */
export function refuseTrust(dataDir: string, worktree: string, dir = worktree): Promise<void> {
  return writeRecord(dataDir, { worktree, dir, refused: true })
}

async function writeRecord(
  dataDir: string,
  { worktree, dir, refused }: { worktree: string; dir: string; refused: boolean },
): Promise<void> {
  const real = await realpath(worktree)
  const path = recordPath(dataDir, real)
  const part = `${path}.${process.pid}.tmp`
  const before = parseRecord(await bytesOf(path))
  // What was trusted from another folder of the same worktree stays so.
  const kept = !refused && before?.worktree === real && before.refused !== true ? asMap(before.parts) : new Map()
  for (const { path: name, hash } of securityParts(real, dir === worktree ? real : dir)) kept.set(name, hash)
  const record = { worktree: real, parts: Object.fromEntries(kept), ...(refused && { refused }) }
  await makeFolder(dirname(path))
  await writeFile(part, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  await rename(part, path)
}

/** One file for each folder, so that two processes never overwrite each other's answer. */
function recordPath(dataDir: string, worktree: string): string {
  return join(dataDir, 'trusted', `${sha256(worktree)}.json`)
}

function parseRecord(bytes: Buffer | undefined): TrustRecord | undefined {
  try {
    const value: unknown = JSON.parse(bytes?.toString() ?? 'null')
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    // A damaged record trusts nothing: the user is asked again.
    return undefined
  }
}

function asMap(parts: unknown): Map<string, unknown> {
  return new Map(typeof parts === 'object' && parts !== null ? Object.entries(parts) : [])
}

/** A record of the configuration alone says nothing against what else is there: it was trusted with the folder. */
function fromConfig({ config }: TrustRecord, parts: SecurityPart[]): Map<string, unknown> {
  const known = new Map<string, unknown>(parts.map(({ path, hash }) => [path, hash]))
  const now = known.get('troupe.yaml') ?? 'none'
  if (config !== now) known.set('troupe.yaml', config)
  return known
}

async function bytesOf(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch {
    return undefined // Nothing has been said of this folder.
  }
}

/** Node's own `recursive` loops for ever where the system says ENOENT though the folder above exists (/proc). */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return
    const above = dirname(path)
    if (code !== 'ENOENT' || above === path || (await exists(above))) throw error
    await makeFolder(above)
    await makeFolder(path)
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
