import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ProcessOutput } from '../core/messages.ts'

/** `keepBytes` of the head and of the tail stay in memory; once there is more, the whole goes to a file of at most `maxSpillBytes`. */
export type CaptureOptions = { keepBytes: number; spillPath: string; maxSpillBytes: number }

/** Takes the bytes of one command as they come; memory is bounded whatever they are. */
export interface CapturedOutput {
  /** Copies what it keeps: the buffer may be used again. */
  write(chunk: Buffer): void
  /** Closes the file. The texts are valid UTF-8, no character is cut in two. */
  finish(): ProcessOutput
}

/** Close it with `finish`. The file is written synchronously: a command faster than the disk waits for it. */
export function createCapturedOutput({ keepBytes, spillPath, maxSpillBytes }: CaptureOptions): CapturedOutput {
  const head = createHead(keepBytes)
  const tail = createTail(keepBytes)
  let totalBytes = 0
  let spill: Spill | undefined

  return {
    write(chunk) {
      totalBytes += chunk.length
      if (spill === undefined && totalBytes > 2 * keepBytes) {
        spill = createSpill(spillPath, maxSpillBytes)
        spill.write(head.bytes())
        spill.write(tail.bytes())
      }
      spill?.write(chunk)
      tail.write(head.write(chunk))
    },
    finish() {
      const captured = decode(head.bytes(), tail.bytes(), totalBytes)
      const bytes = spill?.close() ?? 0
      return bytes > 0 ? { ...captured, spilled: { path: spillPath, bytes } } : captured
    },
  }
}

function decode(head: Buffer, tail: Buffer, totalBytes: number): ProcessOutput {
  if (totalBytes === head.length + tail.length) {
    return { head: Buffer.concat([head, tail]).toString('utf8'), tail: '', totalBytes, droppedBytes: 0 }
  }
  const first = withoutCutEnd(head)
  const last = withoutCutStart(tail)
  const droppedBytes = totalBytes - first.length - last.length
  return { head: first.toString('utf8'), tail: last.toString('utf8'), totalBytes, droppedBytes }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

// A character has at most three continuation bytes; more in a row are no UTF-8, and then the cut does not matter.
function withoutCutStart(bytes: Buffer): Buffer {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start += 1
  return bytes.subarray(start)
}

function withoutCutEnd(bytes: Buffer): Buffer {
  let lead = bytes.length - 1
  while (lead > bytes.length - 4 && isContinuation(bytes[lead])) lead -= 1
  const isCut = lead >= 0 && lead + lengthOfCharacter(bytes[lead]!) > bytes.length
  return isCut ? bytes.subarray(0, lead) : bytes
}

function lengthOfCharacter(lead: number): number {
  if (lead >= 0xf0) return 4
  if (lead >= 0xe0) return 3
  return lead >= 0xc0 ? 2 : 1
}

function createHead(limit: number) {
  const chunks: Buffer[] = []
  let length = 0
  return {
    /** Returns what found no room. */
    write(chunk: Buffer): Buffer {
      const taken = chunk.subarray(0, limit - length)
      if (taken.length > 0) chunks.push(Buffer.from(taken))
      length += taken.length
      return chunk.subarray(taken.length)
    },
    bytes: () => Buffer.concat(chunks, length),
  }
}

/** The last `limit` bytes, in a buffer of at most twice that size, so that it is moved seldom. */
function createTail(limit: number) {
  let buffer = Buffer.alloc(0)
  let length = 0

  function makeRoom(added: number): void {
    const kept = buffer.subarray(Math.max(0, length - limit), length)
    const needed = kept.length + added
    if (needed > buffer.length) buffer = Buffer.allocUnsafeSlow(Math.min(2 * limit, Math.max(4096, 2 * needed)))
    buffer.set(kept)
    length = kept.length
  }

  return {
    write(chunk: Buffer) {
      const added = chunk.subarray(Math.max(0, chunk.length - limit))
      if (length + added.length > buffer.length) makeRoom(added.length)
      buffer.set(added, length)
      length += added.length
    },
    bytes: () => buffer.subarray(Math.max(0, length - limit), length),
  }
}

type Spill = ReturnType<typeof createSpill>

/** A full or read-only disk ends the file and not the command. */
function createSpill(path: string, maxBytes: number) {
  let file = openForWriting(path)
  let written = 0

  function end(): void {
    if (file !== undefined) closeSync(file)
    file = undefined
  }

  return {
    write(chunk: Buffer) {
      for (let rest = chunk.subarray(0, maxBytes - written); rest.length > 0 && file !== undefined; ) {
        try {
          const count = writeSync(file, rest)
          written += count
          rest = rest.subarray(count)
        } catch {
          end()
        }
      }
    },
    /** Returns how many bytes the file holds. */
    close(): number {
      end()
      return written
    },
  }
}

function openForWriting(path: string): number | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true })
    return openSync(path, 'w', 0o600)
  } catch {
    return undefined
  }
}
