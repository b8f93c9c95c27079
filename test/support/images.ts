import { randomBytes } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'

/** A valid PNG of random grey pixels: about `width * height` bytes. */
export function makePng(width: number, height: number): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 0, 0, 0, 0], 8)
  const rows = Array.from({ length: height }, () => Buffer.concat([Buffer.from([0]), randomBytes(width)]))
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const bytes = Buffer.alloc(8)
  bytes.writeUInt32BE(data.length, 0)
  bytes.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([bytes.subarray(0, 4), body, bytes.subarray(4)])
}
