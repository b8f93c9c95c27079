import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Damage } from './scan-journal.ts'
import { errnoOf } from './storage-error.ts'

export type DamageReport = { path: string; message: string }

type DamagedFile = { fd: number; path: string; damages: Damage[] }

/**
 * Copies damaged lines to a new `<journal>.damaged-<n>` and reports them, unless such a file already holds them. The
 * journal stays as it is: offsets never change, so a copy's heading tells for ever what has been reported. Returns
 * false when the copy could not be written; the damage is reported even so.
 */
export function setDamageAside(file: DamagedFile, onDamage: (report: DamageReport) => void): boolean {
  const fresh = freshDamage(file)
  if (fresh.length === 0) return true
  const copied = writeAside(file.path, fresh)
  const where =
    'failure' in copied ? `they stay in place, as a copy failed (${copied.failure})` : `a copy is in ${copied.aside}`
  onDamage({ path: file.path, message: describe(file, fresh, where) })
  return !('failure' in copied)
}

/** Reports damage without touching anything: for readers that do not own the journal. */
export function reportDamage(file: DamagedFile, onDamage: (report: DamageReport) => void): void {
  const fresh = freshDamage(file)
  if (fresh.length === 0) return
  onDamage({ path: file.path, message: describe(file, fresh, 'they stay in place until the session is resumed') })
}

type Fresh = { damage: Damage; copy: Buffer }

function freshDamage({ fd, path, damages }: DamagedFile): Fresh[] {
  const known = Buffer.concat(asidePaths(path).map((aside) => readFileSync(aside)))
  return damages
    .map((damage) => ({ damage, copy: copyOf(fd, damage) }))
    .filter(({ copy }) => known.indexOf(copy) === -1)
}

function asidePaths(path: string): string[] {
  const prefix = `${basename(path)}.damaged-`
  const folder = dirname(path)
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(folder, name))
}

function copyOf(fd: number, { from, to, after, before }: Damage): Buffer {
  if (from === to) return Buffer.from(`# records ${after + 1} to ${before! - 1} are missing before byte ${from}\n`)
  const bytes = Buffer.alloc(to - from)
  readSync(fd, bytes, 0, bytes.length, from)
  return Buffer.concat([Buffer.from(`# bytes ${from} to ${to}, after record ${after}\n`), bytes])
}

function writeAside(path: string, fresh: Fresh[]): { aside: string } | { failure: string } {
  try {
    for (let n = 1; ; n += 1) {
      const aside = `${path}.damaged-${n}`
      const fd = openNew(aside)
      if (fd === undefined) continue
      try {
        writeFileSync(fd, Buffer.concat(fresh.map(({ copy }) => copy)))
        fsyncSync(fd)
      } finally {
        closeSync(fd)
      }
      return { aside }
    }
  } catch (error) {
    return { failure: errnoOf(error) }
  }
}

function openNew(path: string): number | undefined {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return undefined
    throw error
  }
}

function describe({ path }: DamagedFile, fresh: Fresh[], where: string): string {
  const places = fresh.slice(0, 3).map(({ damage: { from, to, after, before } }) => {
    if (from !== to) return `${to - from} unreadable bytes after record ${after}`
    return after + 2 === before
      ? `record ${after + 1} is missing`
      : `records ${after + 1} to ${before! - 1} are missing`
  })
  if (fresh.length > places.length) places.push(`${fresh.length - places.length} places more`)
  return `${path} is damaged: ${places.join(', ')}; ${where}. The session goes on with all other records.`
}
