import { closeSync, readSync } from 'node:fs'
import type { LineWindow } from './pagination.ts'
import { createPace } from './search/pace.ts'
import { isBinary } from './text-files.ts'
import type { ResolvedPath } from './workspace.ts'
import { openJudged, translated } from './workspace-files.ts'

export type WindowRequest = {
  /** First line, from 1. */
  from: number
  limit: number
  /** Changes whenever the file does. */
  version: string
  signal: AbortSignal
}

const chunkBytes = 1024 * 1024
/** Kept of one line of a huge file; a page shows less. */
const maxLineBytes = 16_384

/**
 * A window of a file that is too large to load: reads up to its end and no further, so `total` is exact only when the
 * file ended before. `undefined` for binary data. Going on where the last window ended does not begin at the front again.
 */
export async function streamWindow(file: ResolvedPath, request: WindowRequest): Promise<LineWindow | undefined> {
  const { from, limit, version, signal } = request
  const descriptor = openNow(file)
  try {
    const begin = placeBefore(file.path, version, from)
    const lines = createLineCollector({ first: from, last: from + limit - 1, begin })
    const chunk = Buffer.allocUnsafeSlow(chunkBytes)
    const pace = createPace(signal)
    for (let at = begin.byte; ; ) {
      const part = chunk.subarray(0, readSync(descriptor, chunk, 0, chunkBytes, at))
      if (at === 0 && isBinary(part)) return undefined
      if (part.length === 0) return { from, ...lines.end(true) }
      const end = lines.take(part)
      if (end !== undefined) {
        remember(file.path, { version, line: from + limit, byte: at + end })
        return { from, ...lines.end(false) }
      }
      at += part.length
      // A chunk is read at once: trips to the thread pool would cost more.
      await pace.breathe()
    }
  } finally {
    closeSync(descriptor)
  }
}

/** The first bytes of a file: enough to tell what it is. */
export function fileHead(file: ResolvedPath): Buffer {
  const descriptor = openNow(file)
  try {
    const head = Buffer.alloc(64)
    return head.subarray(0, readSync(descriptor, head, 0, head.length, 0))
  } finally {
    closeSync(descriptor)
  }
}

function openNow(file: ResolvedPath): number {
  try {
    return openJudged(file.path)
  } catch (error) {
    throw translated(error, file)
  }
}

/** Where a line begins. */
type Place = { line: number; byte: number }

const maxPlaces = 20
/** By path, the last used at the end. */
const places = new Map<string, Place & { version: string }>()

function placeBefore(path: string, version: string, line: number): Place {
  const known = places.get(path)
  return known?.version === version && known.line <= line ? known : { line: 1, byte: 0 }
}

function remember(path: string, place: Place & { version: string }): void {
  places.delete(path)
  places.set(path, place)
  if (places.size > maxPlaces) places.delete(places.keys().next().value!)
}

type LineCollector = {
  /** Once a line after the last wanted one has begun: where in the chunk. */
  take(chunk: Buffer): number | undefined
  end(atEnd: boolean): { lines: string[]; total: number; exact: boolean }
}

function createLineCollector({ first, last, begin }: { first: number; last: number; begin: Place }): LineCollector {
  const lines: string[] = []
  let line = begin.line
  let isOpen = false
  let parts: Buffer[] = []
  let kept = 0

  const keep = (part: Buffer) => {
    const wanted = part.subarray(0, maxLineBytes - kept)
    if (wanted.length > 0) parts.push(Buffer.from(wanted))
    kept += wanted.length
  }
  /** `rest`: what the line has in the present chunk. */
  const finish = (rest: Buffer) => {
    const bytes = parts.length === 0 ? rest : Buffer.concat([...parts, rest])
    const text = bytes.toString('utf8', 0, maxLineBytes)
    if (line >= first && line <= last) lines.push(text.endsWith('\r') ? text.slice(0, -1) : text)
    parts = []
    kept = 0
    line++
  }
  /** Behind the lines before the first wanted one. */
  const skip = (chunk: Buffer) => {
    let at = 0
    while (line < first) {
      const next = chunk.indexOf(0x0a, at)
      if (next < 0) return chunk.length
      line++
      at = next + 1
    }
    return at
  }

  return {
    take(chunk) {
      let at = skip(chunk)
      while (at < chunk.length) {
        if (line > last) return at
        const next = chunk.indexOf(0x0a, at)
        if (next < 0) keep(chunk.subarray(at))
        if (next < 0) break
        finish(chunk.subarray(at, next))
        at = next + 1
      }
      isOpen = chunk.at(-1) !== 0x0a
      return undefined
    },
    end(atEnd) {
      if (isOpen && atEnd) finish(Buffer.alloc(0))
      return { lines, total: line - 1, exact: atEnd }
    },
  }
}
