import { closeSync, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { ProjectMemory } from '../core/messages.ts'
import { findWorktree, foldersUpTo } from './paths.ts'

const instructions = ['AGENTS.md', 'CLAUDE.md']
const memoryPath = '.troupe/memory.md'
const maxBytes = 64 * 1024

type Known = { version: string; text: string }

/** Reads again only what has changed. */
export function createMemoryLoader(): (dir: string) => ProjectMemory {
  const known = new Map<string, Known>()
  return (dir) => loadMemory(dir, (path) => textOf(path, known))
}

/**
 * What the project around a folder says to agents: `AGENTS.md` and `CLAUDE.md` from the worktree down to the folder, then
 * the nearest memory. The same text twice counts once. What cannot be read, or leads out of the worktree, is left out.
 */
function loadMemory(dir: string, read: (path: string) => string | undefined): ProjectMemory {
  const worktree = worktreeOf(dir)
  const folders = worktree === undefined ? [dir] : foldersUpTo(dir, worktree)
  const paths = folders.toReversed().flatMap((folder) => instructions.map((name) => join(folder, name)))
  const memories = folders.map((folder) => join(folder, memoryPath))
  const memory = memories.find((path) => read(path) !== undefined)
  const seen = new Set<string>()
  const parts = [...paths, ...(memory === undefined ? [] : [memory])].flatMap((path) => {
    const text = isWithin(path, worktree ?? dir) ? read(path) : undefined
    if (!text || seen.has(text)) return []
    seen.add(text)
    return [{ origin: relative(folders[0]!, path).split(sep).join('/'), text }]
  })
  return { file: memory ?? memories[0]!, parts }
}

function worktreeOf(dir: string): string | undefined {
  try {
    return findWorktree(dir)
  } catch {
    return undefined // The folder is gone: its sessions say so themselves.
  }
}

/** A link to elsewhere would put a file of the user's into every prompt. */
function isWithin(path: string, worktree: string): boolean {
  try {
    return realpathSync.native(path).startsWith(worktree + sep)
  } catch {
    return false // There is none.
  }
}

/** `undefined` when there is no such file; trimmed. */
function textOf(path: string, known: Map<string, Known>): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile()) return undefined
  const version = `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`
  const before = known.get(path)
  if (before?.version === version) return before.text
  const text = readStart(path)
  if (text !== undefined) known.set(path, { version, text })
  return text
}

function readStart(path: string): string | undefined {
  try {
    const file = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(Math.min(maxBytes, fstatSync(file).size))
      const length = readSync(file, bytes, 0, bytes.length, 0)
      return bytes
        .toString('utf8', 0, length)
        .replace(/^\uFEFF|\uFFFD+$/g, '')
        .trim()
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined // Not ours to read.
  }
}
