import { relative, resolve, sep } from 'node:path'
import picomatch from 'picomatch'
import type { Kernel } from './kernel.ts'
import { isChild, type SessionEntry } from './session-entry.ts'

/** Write claims of running jobs: which files a job was sent to change, so that others of its tree keep off them. */
export type Claims = {
  /** Why these globs (relative to `dir`) cannot be claimed for a child of `parent`; `undefined` if they can. */
  refusal(parent: SessionEntry, claim: Claim): string | undefined
  /** What speaks against a write of a session to an absolute path, in words; `undefined` if nothing does. */
  against(entry: SessionEntry, path: string): string | undefined
}

type Claim = { globs: readonly string[]; dir: string }

/** Holds nothing that must be closed: a claim lasts as long as its job is at work. */
export function createClaims(kernel: Kernel): Claims {
  /** The globs that a session was sent with; none once it has ended. */
  function globsOf(entry: SessionEntry): readonly string[] {
    if (!isChild(entry) || entry.status === 'ended') return []
    return kernel.parentOf(entry)?.jobs.get(entry.seed.parent.job)?.claims ?? []
  }

  /** The session, then those above it. */
  function lineOf(entry: SessionEntry): SessionEntry[] {
    const parent = kernel.parentOf(entry)
    return parent ? [entry, ...lineOf(parent)] : [entry]
  }

  /** Sessions of the same tree with a claim, but for those above `entry`, within whose claims it works. */
  function othersWithClaim(entry: SessionEntry): SessionEntry[] {
    const own = new Set(lineOf(entry))
    return kernel.treeOf(kernel.entry(entry.seed.root)).filter((one) => !own.has(one) && globsOf(one).length > 0)
  }

  function refusal(parent: SessionEntry, { globs, dir }: Claim): string | undefined {
    for (const holder of othersWithClaim(parent)) {
      for (const glob of globs) {
        const held = globsOf(holder).find((other) => overlaps(placed(dir, glob), placed(holder.seed.dir, other)))
        if (held === undefined) continue
        return `"${glob}" overlaps with "${held}", which ${named(holder)} has claimed and is still at work on. Wait for it to end, claim other files, or leave files out.`
      }
    }
    return undefined
  }

  function against(entry: SessionEntry, path: string): string | undefined {
    const holder = othersWithClaim(entry).find((one) => covers({ globs: globsOf(one), dir: one.seed.dir }, path))
    if (holder) return `${named(holder)} has claimed this file and is at work on it`
    const own = lineOf(entry).find((one) => globsOf(one).length > 0)
    if (!own || covers({ globs: globsOf(own), dir: own.seed.dir }, path)) return undefined
    const name = relative(entry.seed.dir, path)
    return `${name} lies outside of what this job has claimed (${globsOf(own).join(', ')})`
  }

  return { refusal, against }
}

/** Whether a claim holds an absolute path. A glob without wildcards stands for a file, or a folder and all in it. */
export function covers({ globs, dir }: Claim, path: string): boolean {
  return globs.some((glob) => {
    const claim = placed(dir, glob)
    const { fixed, rest } = claim
    if (isWithin(path, fixed + rest)) return true // A name such as app/[id]/page.tsx stands for itself as well.
    return (
      !isLiteral(claim) && path.startsWith(fixed) && picomatch.isMatch(path.slice(fixed.length), rest, { dot: true })
    )
  })
}

/** By literal prefixes alone: rather one refusal too many than two jobs on one file. */
export function overlaps(one: PlacedGlob, other: PlacedGlob): boolean {
  return reaches(one, literalPrefix(other)) || reaches(other, literalPrefix(one))
}

/** A glob as an absolute one: wildcards count in `rest` only, for a folder of the system may be named like one. */
export type PlacedGlob = { fixed: string; rest: string }

/** `glob` is relative to `dir`, or absolute. */
export function placed(dir: string, glob: string): PlacedGlob {
  const absolute = resolve(dir, glob)
  const fixed = dir.endsWith(sep) ? dir : dir + sep
  if (absolute === dir) return { fixed: dir, rest: '' }
  return absolute.startsWith(fixed) ? { fixed, rest: absolute.slice(fixed.length) } : { fixed: '', rest: absolute }
}

function reaches(glob: PlacedGlob, prefix: string): boolean {
  if (!isLiteral(glob)) return prefix.startsWith(literalPrefix(glob))
  return isWithin(prefix, glob.fixed + glob.rest)
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

const wildcard = /[*?[{(!]/

function isLiteral({ rest }: PlacedGlob): boolean {
  return !wildcard.test(rest)
}

function literalPrefix({ fixed, rest }: PlacedGlob): string {
  return fixed + (rest.split(wildcard, 1)[0] ?? '')
}

function named({ seed }: SessionEntry): string {
  return `${seed.parent?.alias ?? seed.session} (${seed.agent.name})`
}
