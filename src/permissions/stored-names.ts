import { lstatSync, opendirSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'

/** What is asked of a file system. */
export type Names = {
  /** Names in a folder; none when it cannot be listed. */
  list(folder: string): Iterable<string>
  /** True when both paths lead to one file. */
  isSame(one: string, other: string): boolean
}

/** True where `README` opens `readme`, as tried with a name in the folder, or with the folder's own. */
export function isCaseBlind(folder: string, { list, isSame }: Names = disk): boolean {
  for (const name of list(folder)) {
    const other = swapped(name)
    if (other !== name) return isSame(join(folder, name), join(folder, other))
  }
  const own = swapped(basename(folder))
  return own !== basename(folder) && isSame(folder, join(dirname(folder), own))
}

/**
 * An absolute path with each name as the file system has it: where `SECRETS` opens `secrets`, a rule about one of them holds
 * for the other. What is not there yet keeps its spelling.
 */
export function spelledAsStored(path: string, { list }: Names = disk): string {
  let at: string = sep
  for (const part of path.split(sep)) if (part !== '') at = join(at, storedName([...list(at)], part))
  return at
}

const known = new Map<string, boolean>()

/** `isCaseBlind`, looked up once for each folder. */
export function isKnownCaseBlind(folder: string): boolean {
  const found = known.get(folder) ?? isCaseBlind(folder)
  known.set(folder, found)
  return found
}

function storedName(names: string[], name: string): string {
  return names.includes(name) ? name : (names.find((stored) => folded(stored) === folded(name)) ?? name)
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

function swapped(name: string): string {
  const upper = name.toUpperCase()
  return upper === name ? name.toLowerCase() : upper
}

const disk: Names = {
  *list(folder) {
    try {
      yield* namesIn(folder)
    } catch {
      // Not a folder, or not ours to list.
    }
  },
  isSame(one, other) {
    const [a, b] = [one, other].map((path) => lstatSync(path, { throwIfNoEntry: false }))
    return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
  },
}

// One after the other: the first name may do.
function* namesIn(path: string): Generator<string> {
  const folder = opendirSync(path)
  try {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) yield entry.name
  } finally {
    folder.closeSync()
  }
}
