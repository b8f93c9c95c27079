import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import { RuntimeError } from '../../core/errors.ts'

const maxEncodings = 3

/** `isCut`: there was more. */
export type Body = { bytes: Buffer; isCut: boolean }

/** The body, decompressed, up to `maxBytes` of it; a body that unpacks to more is not unpacked further. */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Body> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of decompressed(response)) {
      chunks.push(chunk as Buffer)
      length += (chunk as Buffer).length
      if (length > maxBytes) break
    }
  } catch (error) {
    // A stream that was cut short has given what it had.
    if (!isZlibError(error) || length === 0) throw error
  } finally {
    response.destroy()
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: length > maxBytes }
}

function decompressed(response: IncomingMessage): Readable {
  const encodings = (response.headers['content-encoding'] ?? '').split(',').map((name) => name.trim().toLowerCase())
  if (encodings.length > maxEncodings) {
    throw new RuntimeError(
      'bad-response',
      `The server packed its answer ${encodings.length} times; it was not unpacked.`,
    )
  }
  return encodings.reduceRight<Readable>((stream, encoding) => unpack(stream, encoding), response)
}

function unpack(stream: Readable, encoding: string): Readable {
  switch (encoding) {
    case '':
    case 'identity':
      return stream
    case 'gzip':
    case 'x-gzip':
    case 'deflate':
      return through(stream, createUnzip())
    case 'br':
      return through(stream, createBrotliDecompress())
    default:
      throw new RuntimeError(
        'bad-response',
        `The server sent its answer in the encoding ${encoding}, which was not asked for.`,
      )
  }
}

function through<Target extends NodeJS.ReadWriteStream & Readable>(source: Readable, target: Target): Readable {
  source.once('error', (error) => target.destroy(error))
  return source.pipe(target)
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(Z_|ERR_(_)?BROTLI|ERR__ERROR)/.test(String(error.code))
}
