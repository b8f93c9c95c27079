import { join, normalize } from 'node:path'
import { realTarget } from '../path-gate.ts'
import type { Word } from './words.ts'

/** Every folder in which what comes next may run: `ok` after a success, `failed` after a failure. */
export type After = { ok: string[]; failed: string[] }

const maxFolders = 8

/** Both lists as one, each folder once; undefined where there are more than can be followed. */
export function union(...lists: string[][]): string[] | undefined {
  const folders = [...new Set(lists.flat())]
  return folders.length > maxFolders ? undefined : folders
}

/** Where `cd` (or pushd) leads from each folder; undefined where it cannot be told. */
export function followCd(words: Word[], folders: string[]): string[] | undefined {
  const rest = words.slice(1)
  if (rest[0]?.text === '--') rest.shift()
  const [to, ...more] = rest
  if (to === undefined || more.length > 0 || to.glob || to.tilde || to.dynamic) return undefined
  if (to.text === '' || /^[-+]/.test(to.text)) return undefined
  const targets = folders.map((from) => enter(to.text, from))
  return targets.every((target) => target !== undefined) ? targets : undefined
}

// With a link on the way, `..` means one thing to cd and another to the programs that it starts.
function enter(path: string, from: string): string | undefined {
  const real = realTarget(path, from)
  const written = path.startsWith('/') ? normalize(path) : join(from, path)
  const plain = written.length > 1 && written.endsWith('/') ? written.slice(0, -1) : written
  return real === plain || (real !== undefined && realTarget(plain, '/') === real && !path.includes('..'))
    ? real
    : undefined
}
