import { homedir } from 'node:os'
import { createPathGate, realTarget } from './path-gate.ts'
import { expandGlob } from './shell/expand-glob.ts'
import type { Word } from './shell/words.ts'
import { looseWords } from './spellings.ts'

// Commands of more words are allowed by no star (`findHazard`).
const maxWords = 500
const maxExpanded = 20
const programFolders = /^\/(usr\/|usr\/local\/)?s?bin\/[^/]+$/
const devices = /^\/dev\/(null|stdin|stdout|stderr|tty|fd\/\d+)$/

/** Real paths outside the worktree `dir` that words of a command lead to, each once. Loose: some may be no paths at all. */
export function outsidePaths(words: Word[], dir: string, cwd: string): string[] {
  return findOutside(
    words
      .slice(0, maxWords)
      .flatMap((word, n) => (n === 0 && programFolders.test(word.text) ? [] : pathsOf(word, cwd))),
    dir,
    cwd,
  )
}

/** The same for a command line that is not understood. */
export function looseOutsidePaths(command: string, dir: string, cwd: string): string[] {
  const words = looseWords(command)
    .slice(0, maxWords)
    .map((text): Word => ({ text, raw: text, glob: false, tilde: text.startsWith('~'), dynamic: false }))
  return outsidePaths(words, dir, cwd)
}

/** What in a word may be a path: all of it, the value of `--flag=value`, what is stuck to a short flag. */
export function pathsOf({ text, tilde, glob, dynamic }: Word, cwd: string): string[] {
  const value = /^[\w-]+=(.+)$/s.exec(text)?.[1]
  const candidates = text.startsWith('-') ? [value, ...stuckValues(text)] : [text, value]
  const paths = candidates
    .filter((path) => path !== undefined && path !== '')
    .map((path) => (tilde ? expandHome(path!) : path!))
  return glob && !dynamic ? paths.flatMap((path) => expandGlob(path, cwd)?.slice(-maxExpanded) ?? [path]) : paths
}

/** `-tfolder`, `-rtfolder`: where the flags end and the value begins is the program's own affair. */
function stuckValues(text: string): string[] {
  const letters = /^-([A-Za-z]{1,5})/.exec(text)?.[1] ?? ''
  return Array.from(letters, (_, n) => text.slice(n + 2))
}

function findOutside(paths: string[], dir: string, cwd: string): string[] {
  const gate = createPathGate(dir, cwd)
  const found = new Set<string>()
  for (const path of paths) {
    if (!devices.test(path) && !gate.isInside(path)) found.add(realTarget(path, cwd) ?? path)
  }
  return [...found]
}

// Another user's home, or a tilde that is no home at all: outside in any case, under the name it was given.
function expandHome(path: string): string {
  if (path === '~' || path.startsWith('~/')) return homedir() + path.slice(1)
  return path.startsWith('~') ? `/${path}` : path
}
