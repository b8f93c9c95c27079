/** An image as its file's head tells it. `damaged`: what is wrong with it. */
export type ImageFile = {
  kind: string
  mediaType: string
  /** Pixels; missing: the head does not say. */
  size?: { width: number; height: number }
  damaged?: string
}

/**
 * What image a file is; `undefined`: none that a model is shown. A broken one must not get into a conversation: the
 * server would refuse all that follows.
 */
export function imageFileOf(bytes: Buffer): ImageFile | undefined {
  if (bytes.toString('latin1', 0, 4) === '\x89PNG') return png(bytes)
  if (bytes.toString('latin1', 0, 3) === '\xff\xd8\xff') return jpeg(bytes)
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return webp(bytes)
  return undefined
}

type Size = { width: number; height: number }

function described(kind: string, mediaType: string, size: Size | undefined, isWhole: boolean): ImageFile {
  if (!size || size.width < 1 || size.height < 1) return { kind, mediaType, damaged: 'its head is damaged' }
  return { kind, mediaType, size, ...(!isWhole && { damaged: 'its end is missing' }) }
}

// https://www.w3.org/TR/png-3/#5DataRep
function png(bytes: Buffer): ImageFile {
  const hasHead = bytes.length >= 33 && bytes.toString('latin1', 4, 16) === '\r\n\x1a\n\0\0\0\rIHDR'
  const size = hasHead ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) } : undefined
  return described('PNG', 'image/png', size, bytes.lastIndexOf('IEND', undefined, 'latin1') >= 33)
}

// https://www.w3.org/Graphics/JPEG/itu-t81.pdf, B.1 and B.2: segments up to the frame's head, which has the size.
function jpeg(bytes: Buffer): ImageFile {
  const isWhole = bytes.lastIndexOf('\xff\xd9', undefined, 'latin1') > 0
  for (let at = 2; at + 9 <= bytes.length; ) {
    if (bytes[at] !== 0xff) break
    const marker = bytes[at + 1]!
    if (marker === 0xff) {
      at++ // Padding.
      continue
    }
    if (isFrame(marker)) {
      const size = { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
      return described('JPEG', 'image/jpeg', size, isWhole)
    }
    at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return described('JPEG', 'image/jpeg', undefined, isWhole)
}

function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

// https://developers.google.com/speed/webp/docs/riff_container
function webp(bytes: Buffer): ImageFile {
  const isWhole = bytes.length >= 30 && bytes.readUInt32LE(4) + 8 <= bytes.length + 1
  return described('WebP', 'image/webp', bytes.length >= 30 ? webpSize(bytes) : undefined, isWhole)
}

function webpSize(bytes: Buffer): Size | undefined {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    default:
      return undefined
  }
}
