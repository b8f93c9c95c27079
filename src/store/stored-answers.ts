import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Rule } from '../core/permission.ts'
import { makeFolders } from './make-folders.ts'
import { errnoOf, storageError } from './storage-error.ts'

/** An "always, in this project": what it allows, when it was given (wall clock, ms) and to what question. */
export type StoredAnswer = { rule: Rule; at: number; about: string }

/** The answers of one project, in a file of the user's own. Others may write to it at the same time. */
export type StoredAnswers = {
  /** In the order in which they were given. Reads again only what has changed. */
  list(): StoredAnswer[]
  /** Throws `storage-failed` or `storage-full`. */
  add(answer: StoredAnswer): void
  /** Throws as `add` does. */
  remove(answers: StoredAnswer[]): void
}

type Line = { worktree: string } & ({ add: StoredAnswer } | { remove: Pick<Rule, 'key' | 'pattern'> })

const maxAbout = 500

/** Answers by the project's real path. One line for each answer or removal: two programs can append at once. */
export function createStoredAnswers(dataDir: string, worktree: string): StoredAnswers {
  const path = join(dataDir, 'answers', `${createHash('sha256').update(worktree).digest('hex')}.jsonl`)
  let known: { version: string; answers: StoredAnswer[] } = { version: '', answers: [] }

  function append(lines: Line[]): void {
    try {
      makeFolders(dirname(path))
      // A line feed first: what a crash has left of the last line must not spoil this one.
      appendFileSync(path, lines.map((line) => `\n${JSON.stringify(line)}\n`).join(''), { mode: 0o600, flush: true })
    } catch (error) {
      throw storageError('write', path, error)
    }
  }

  return {
    list() {
      const version = versionOf(path)
      if (version !== known.version) known = { version, answers: version === '' ? [] : readAnswers(path, worktree) }
      return known.answers
    },
    add({ rule: { place: _, ...rule }, at, about }) {
      append([{ worktree, add: { rule, at, about: about.slice(0, maxAbout) } }])
    },
    remove(answers) {
      append(answers.map(({ rule: { key, pattern } }) => ({ worktree, remove: { key, pattern } })))
    },
  }
}

function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat?.isFile() ? `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}` : ''
}

function readAnswers(path: string, worktree: string): StoredAnswer[] {
  const answers = new Map<string, StoredAnswer>()
  for (const [n, text] of linesOf(path).entries()) {
    const line = parseLine(text)
    if (line === undefined || line.worktree !== worktree) continue
    if ('remove' in line) answers.delete(nameOf(line.remove))
    else answers.set(nameOf(line.add.rule), { ...line.add, rule: { ...line.add.rule, place: { path, line: n + 1 } } })
  }
  return [...answers.values()]
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw storageError('read', path, error)
  }
}

function nameOf({ key, pattern }: Pick<Rule, 'key' | 'pattern'>): string {
  return `${key}:${pattern}`
}

/** `undefined` for what is no whole line of ours: it allows nothing. */
function parseLine(text: string): Line | undefined {
  try {
    const { worktree, add, remove } = Object(JSON.parse(text))
    if (typeof worktree !== 'string') return undefined
    if (isNamed(remove)) return { worktree, remove: { key: remove.key, pattern: remove.pattern } }
    if (!isNamed(add?.rule) || !isWords(add.rule.argv) || add.rule.action !== 'allow' || typeof add.at !== 'number')
      return undefined
    return { worktree, add: { rule: { ...add.rule, source: 'session' }, at: add.at, about: String(add.about ?? '') } }
  } catch {
    return undefined
  }
}

function isWords(argv: unknown): boolean {
  return argv === undefined || (Array.isArray(argv) && argv.every((word) => typeof word === 'string'))
}

function isNamed(value: unknown): value is Rule {
  const { key, pattern } = Object(value)
  return typeof key === 'string' && typeof pattern === 'string'
}
