import { opendirSync } from 'node:fs'
import { join } from 'node:path'
import { compileWildcard } from '../wildcard.ts'

const maxEntries = 1000
const maxFolders = 32

/**
 * What the shell may make of a word with `*`, `?` or `[`: the paths that match, or the word itself where none does. At
 * least those, maybe more: a bracket is taken for a star. Undefined when there are too many to tell.
 */
export function expandGlob(text: string, folder: string): string[] | undefined {
  const isAbsolute = text.startsWith('/')
  let found = [isAbsolute ? '/' : '']
  let searched = 0
  for (const part of text.split('/').filter((part) => part !== '')) {
    if (/[*?[]/.test(part)) searched += found.length
    if (searched > maxFolders) return undefined
    const next = found.map((path) => step(path, part, folder))
    if (next.some((paths) => paths === undefined)) return undefined
    found = next.flat() as string[]
    if (found.length > maxEntries) return undefined
  }
  return [...found, text]
}

function step(path: string, part: string, folder: string): string[] | undefined {
  const prefix = path === '' || path.endsWith('/') ? path : `${path}/`
  if (!/[*?[]/.test(part)) return [prefix + part]
  const matches = compileWildcard(part.replace(/\[.*/s, '*'))
  const names = namesIn(path.startsWith('/') ? path : join(folder, path))
  // `.*` takes in `..` as well; without a dot in front hidden files are left out.
  const hidden = part.startsWith('.')
  return names
    ?.concat('.', '..')
    .filter((name) => (hidden || !name.startsWith('.')) && matches(name))
    .map((name) => prefix + name)
}

/** Undefined when there are too many. */
function namesIn(folder: string): string[] | undefined {
  try {
    const names: string[] = []
    const entries = opendirSync(folder)
    try {
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
        if (names.push(entry.name) > maxEntries) return undefined
      }
    } finally {
      entries.closeSync()
    }
    return names
  } catch {
    // No folder, or one that may not be read: the shell finds nothing there either.
    return []
  }
}
