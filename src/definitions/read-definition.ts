import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { refuse } from './definition-error.ts'

const maxBytes = 1024 * 1024

/**
 * Reads a definition's text: UTF-8, or UTF-16 with a byte-order mark. With `headBytes` only that much of its start.
 * Throws a `DefinitionError` for whatever is no readable text of at most 1 MB. Synchronous: a run starts with a dozen
 * small files, and the thread pool costs more than reading them.
 */
export function readDefinition(path: string, headBytes = maxBytes): string {
  const file = openFile(path)
  try {
    const size = checkedSize(file)
    return decode(readBytes(file, Math.min(size, headBytes)), size > headBytes)
  } finally {
    closeSync(file)
  }
}

/** Without blocking on a pipe that somebody gave the name of a definition. */
function openFile(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    return refuse(openProblem(error instanceof Error && 'code' in error ? String(error.code) : String(error)))
  }
}

function openProblem(code: string): string {
  if (code === 'EACCES' || code === 'EPERM') return 'The file may not be read. Change its permissions, or remove it.'
  if (code === 'ENOENT' || code === 'ELOOP') return 'The file is a link that leads nowhere. Repair or remove it.'
  return `The file could not be read (${code}).`
}

function checkedSize(file: number): number {
  const stats = fstatSync(file)
  if (stats.isDirectory()) refuse('This is a folder, not a file. Rename it, or remove it.')
  if (!stats.isFile()) refuse('This is no regular file.')
  if (stats.size > maxBytes) refuse(`The file has ${stats.size} bytes; at most ${maxBytes} (1 MB) are read.`)
  return stats.size
}

function readBytes(file: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const bytesRead = readSync(file, buffer, filled, length - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

/** A head may end in the middle of a character. */
function decode(bytes: Buffer, isCut: boolean): string {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: isCut })
    if (text.includes('\0')) refuse('This is no text. Save it as UTF-8.')
    return text
  } catch (error) {
    if (error instanceof TypeError) refuse('This is no UTF-8 text. Save it as UTF-8.')
    throw error
  }
}
