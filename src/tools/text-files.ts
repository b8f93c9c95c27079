const sampleBytes = 8192

/** The text as UTF-8 without its byte order mark, UTF-16 converted; `undefined` for binary data. */
export function utf8Of(bytes: Buffer): Buffer | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return Buffer.from(bytes.toString('utf16le', 2), 'utf8')
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return Buffer.from(swapped(bytes).toString('utf16le', 2), 'utf8')
  if (isBinary(bytes)) return undefined
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

/** Whether a byte order mark says so. */
export function isUtf16(bytes: Buffer): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
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

function swapped(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16()
}
