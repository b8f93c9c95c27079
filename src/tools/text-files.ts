import { open } from 'node:fs/promises'
import { defaultPageLines, type LineWindow } from './pagination.ts'
import type { ResolvedPath } from './workspace.ts'
import { openFlags, translated } from './workspace-files.ts'

const sampleBytes = 8192
const chunkBytes = 1024 * 1024
/** Kept of one line of a huge file; a page shows less. */
const maxLineBytes = 16_384

/** The text as UTF-8 without its byte order mark, UTF-16 converted; `undefined` for binary data. */
export function utf8Of(bytes: Buffer): Buffer | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return Buffer.from(bytes.toString('utf16le', 2), 'utf8')
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return Buffer.from(swapped(bytes).toString('utf16le', 2), 'utf8')
  if (isBinary(bytes)) return undefined
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

/** By a sample: a NUL, or many control characters. Bytes that are no UTF-8 alone prove nothing: Latin-1 is text too. */
export function isBinary(bytes: Buffer): boolean {
  const sample = bytes.subarray(0, sampleBytes)
  let controls = 0
  for (const byte of sample) {
    if (byte === 0) return true
    if (byte < 0x20 && !(byte >= 0x08 && byte <= 0x0d) && byte !== 0x1b) controls++
  }
  return controls * 10 > sample.length
}

// How files begin that models ask for although they are no text.
const beginnings: readonly [kind: string, pattern: RegExp][] = [
  ['a PNG image', /^\x89PNG/],
  ['a JPEG image', /^\xff\xd8\xff/],
  ['a GIF image', /^GIF8/],
  ['a WebP image', /^RIFF....WEBP/s],
  ['a PDF document', /^%PDF-/],
  ['an archive', /^(PK\x03\x04|\x1f\x8b|7z\xbc\xaf|BZh|\xfd7zXZ)/],
  ['a program', /^(\x7fELF|MZ|\xcf\xfa\xed\xfe)/],
]

/** What a binary file is, in words. */
export function binaryKind(bytes: Buffer): string {
  const start = bytes.toString('latin1', 0, 16)
  return beginnings.find(([, pattern]) => pattern.test(start))?.[0] ?? 'a binary file'
}

/**
 * A window of a file that is too large to load: reads up to its end and no further, so `total` is exact only when the
 * file ended before. `undefined` for binary data.
 */
export async function streamWindow(
  file: ResolvedPath,
  { offset, limit = defaultPageLines, signal }: { offset: number; limit?: number; signal: AbortSignal },
): Promise<LineWindow | undefined> {
  const handle = await open(file.path, openFlags).catch((error: unknown) => {
    throw translated(error, file)
  })
  try {
    const from = Math.max(1, offset)
    const lines = createLineCollector(from, from + limit - 1)
    const chunk = Buffer.alloc(chunkBytes)
    for (let first = true; ; first = false) {
      signal.throwIfAborted()
      const { bytesRead } = await handle.read(chunk, 0, chunkBytes)
      const part = chunk.subarray(0, bytesRead)
      if (first && isBinary(part)) return undefined
      if (bytesRead === 0 || lines.take(part)) return { from, ...lines.end(bytesRead === 0) }
    }
  } finally {
    await handle.close()
  }
}

type LineCollector = {
  /** True once a line after the last wanted one has begun. */
  take(chunk: Buffer): boolean
  end(atEnd: boolean): { lines: string[]; total: number; exact: boolean }
}

function createLineCollector(first: number, last: number): LineCollector {
  const lines: string[] = []
  let parts: Buffer[] = []
  let kept = 0
  let complete = 0
  let open = false
  const keep = (part: Buffer) => {
    const wanted = complete + 1 >= first && complete + 1 <= last ? part.subarray(0, maxLineBytes - kept) : undefined
    if (!wanted || wanted.length === 0) return
    parts.push(Buffer.from(wanted))
    kept += wanted.length
  }
  const finish = () => {
    complete++
    open = false
    if (complete >= first && complete <= last) lines.push(Buffer.concat(parts).toString('utf8').replace(/\r$/, ''))
    parts = []
    kept = 0
  }
  return {
    take(chunk) {
      for (let at = 0; at < chunk.length; ) {
        if (complete >= last) return true
        const next = chunk.indexOf(0x0a, at)
        keep(chunk.subarray(at, next < 0 ? chunk.length : next))
        open = true
        if (next < 0) return false
        finish()
        at = next + 1
      }
      return false
    },
    end(atEnd) {
      if (open) finish()
      return { lines, total: complete, exact: atEnd }
    },
  }
}

function swapped(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16()
}
