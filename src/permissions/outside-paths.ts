import { homedir } from 'node:os'
import { createPathGate, realTarget } from './path-gate.ts'
import { lexCommand, type Word } from './shell-words.ts'
import { looseWords } from './spellings.ts'

// Longer commands are allowed by no star (`findHazard`).
const maxWords = 500
const programFolders = /^\/(usr\/|usr\/local\/)?s?bin\/[^/]+$/

/** Real paths outside the worktree `dir` that words of a command lead to, each once. Loose: some may be no paths at all. */
export function outsidePaths(command: string, dir: string, cwd: string): string[] {
  const lexed = lexCommand(command)
  const words = lexed.simple ? lexed.words : looseWords(command).map(unread)
  const gate = createPathGate(dir, cwd)
  const found = new Set<string>()
  for (const [n, word] of words.slice(0, maxWords).entries()) {
    if (n === 0 && programFolders.test(word.text)) continue
    for (const path of pathsOf(word)) {
      if (path !== '/dev/null' && !gate.isInside(path)) found.add(realTarget(path, cwd) ?? path)
    }
  }
  return [...found]
}

function unread(text: string): Word {
  return { text, glob: false, tilde: text.startsWith('~') }
}

/** What in a word may be a path: all of it, the value of `--flag=value`, what is stuck to a short flag. */
function pathsOf({ text, tilde }: Word): string[] {
  const value = /^[\w-]+=(.+)$/s.exec(text)?.[1]
  const stuck = /^-[A-Za-z]{1,5}(\/.*|\.\.(\/.*)?)$/s.exec(text)?.[1]
  const candidates = text.startsWith('-') ? [value, stuck] : [text, value]
  return candidates
    .filter((path) => path !== undefined && path !== '')
    .map((path) => (tilde ? expandHome(path!) : path!))
}

// Another user's home, or a tilde that is no home at all: outside in any case, under the name it was given.
function expandHome(path: string): string {
  if (path === '~' || path.startsWith('~/')) return homedir() + path.slice(1)
  return path.startsWith('~') ? `/${path}` : path
}
