import { closeSync, openSync } from 'node:fs'
import { errnoOf } from './storage-error.ts'

/** A file that may be open at the moment. While `pins` is above zero it is not closed to make room. */
export type OpenFile = { readonly path: string; fd?: number; pins: number }

/** Keeps at most `maxOpen` files open, the least recently used goes first; must be closed. */
export interface OpenFiles {
  /** The descriptor, opened with the flags if needed. Good until the next `use`, longer only when pinned. */
  use(file: OpenFile, flags: number): number
  /** A descriptor that the caller closes, at the cost of ours when the process has run out of them. */
  openApart(path: string, flags: number): number
  close(file: OpenFile): void
  closeAll(): void
}

export function createOpenFiles(maxOpen: number): OpenFiles {
  let limit = maxOpen
  const open = new Set<OpenFile>()
  let newest: OpenFile | undefined

  function use(file: OpenFile, flags: number): number {
    if (file.fd !== undefined) {
      touch(file)
      return file.fd
    }
    if (open.size >= limit) closeOldest(1)
    file.fd = openApart(file.path, flags)
    open.add(file)
    newest = file
    return file.fd
  }

  function touch(file: OpenFile): void {
    if (file === newest) return
    open.delete(file)
    open.add(file)
    newest = file
  }

  /** When the process itself has run out of descriptors, half of ours are given up for good. */
  function openApart(path: string, flags: number): number {
    try {
      return openSync(path, flags, 0o600)
    } catch (error) {
      if (errnoOf(error) !== 'EMFILE' || open.size === 0) throw error
      limit = Math.ceil(open.size / 2)
      closeOldest(limit)
      return openSync(path, flags, 0o600)
    }
  }

  function closeOldest(count: number): void {
    for (const file of open) {
      if (count === 0) return
      if (file.pins > 0) continue
      close(file)
      count -= 1
    }
  }

  function close(file: OpenFile): void {
    if (file.fd === undefined) return
    const fd = file.fd
    file.fd = undefined
    open.delete(file)
    if (newest === file) newest = undefined
    closeSync(fd)
  }

  function closeAll(): void {
    for (const file of open) close(file)
  }

  return { use, openApart, close, closeAll }
}
