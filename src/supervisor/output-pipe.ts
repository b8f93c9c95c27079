import { spawn } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

/** Both ends of a real pipe, as file descriptors. */
export type PipePair = { read: number; write: number }

/** Hands out pipes. */
export interface PipePool {
  /** `undefined` where the platform cannot make one. */
  take(): Promise<PipePair | undefined>
  close(): Promise<void>
}

/**
 * Node gives a child sockets for its output: `> /dev/stderr` fails on them, and two of them lose the order of stdout and
 * stderr. One pipe for both has neither fault. Node cannot make a pipe; `mkfifo` can, and it makes eight for the price of
 * one. Their names are gone as soon as both ends are open.
 */
export function createPipePool(batchSize: number = 8): PipePool {
  const ready: PipePair[] = []
  let filling: Promise<void> | undefined
  let canMake = true
  let isClosed = false

  async function fill(): Promise<void> {
    const pairs = await makePipes(batchSize)
    canMake = pairs.length > 0
    if (isClosed) pairs.forEach(closePair)
    else ready.push(...pairs)
    filling = undefined
  }

  function fillAhead(): Promise<void> {
    filling ??= fill()
    return filling
  }

  void fillAhead()
  return {
    async take() {
      while (ready.length === 0 && canMake && !isClosed) await fillAhead()
      const pair = ready.shift()
      if (ready.length <= batchSize / 4 && canMake) void fillAhead()
      return pair
    },
    async close() {
      isClosed = true
      ready.splice(0).forEach(closePair)
      await filling
    },
  }
}

/** `ended` resolves when the last writer is gone, or after `destroy`. */
export type PipeReading = { ended: Promise<void>; destroy(): void }

/** Closes the descriptor in the end. `onData` gets a buffer that is used again. */
export function readPipe(descriptor: number, onData: (chunk: Buffer) => void): PipeReading {
  const buffer = Buffer.allocUnsafeSlow(65_536)
  const onread = {
    buffer,
    callback(bytes: number) {
      onData(buffer.subarray(0, bytes))
      return true
    },
  }
  const options = { fd: descriptor, readable: true, writable: false, onread }
  return read(new Socket(options))
}

/** The same, for a child's socket. */
export function readSocket(socket: Readable, onData: (chunk: Buffer) => void): PipeReading {
  socket.on('data', onData)
  return read(socket)
}

function read(stream: Readable): PipeReading {
  const ended = new Promise<void>((resolve) => {
    stream.once('close', () => resolve())
  })
  stream.on('error', () => stream.destroy())
  stream.resume()
  return { ended, destroy: () => void stream.destroy() }
}

async function makePipes(count: number): Promise<PipePair[]> {
  let folder: string | undefined
  try {
    folder = mkdtempSync(join(tmpdir(), 'troupe-pipes-'))
    const paths = Array.from({ length: count }, (_, index) => join(folder!, String(index)))
    await run('mkfifo', ['-m', '600', ...paths])
    return paths.map(openPair)
  } catch {
    return [] // No mkfifo or no room for temporary files: commands go on with sockets.
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
}

// The reading end first, without waiting for a writer: then the writing end opens at once.
function openPair(path: string): PipePair {
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { read, write: openSync(path, constants.O_WRONLY) }
}

/** For a pair that nobody has used. */
export function closePair({ read, write }: PipePair): void {
  closeSync(read)
  closeSync(write)
}

function run(program: string, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'ignore' })
    child.once('error', reject)
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${program}: ${code}`))))
  })
}
