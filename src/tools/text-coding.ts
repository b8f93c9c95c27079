import { isUtf8 } from 'node:buffer'
import { RuntimeError } from '../core/errors.ts'

/** Between a file's bytes and text, without loss: what is not changed keeps its very bytes. */
export type TextCoding = {
  decode(bytes: Buffer): string
  encode(text: string): Buffer
  /** A text from outside as it would stand in decoded content. */
  ofText(text: string): string
}

const mark = '\uFEFF'

const utf8: TextCoding = {
  decode: (bytes) => bytes.toString('utf8'),
  encode: (text) => Buffer.from(text, 'utf8'),
  ofText: (text) => text,
}

const markedUtf8: TextCoding = {
  decode: (bytes) => bytes.toString('utf8', 3),
  encode: (text) => Buffer.from(mark + text, 'utf8'),
  ofText: (text) => (text.startsWith(mark) ? text.slice(1) : text),
}

/** Every byte is a character of its own: whatever the encoding, nothing is decoded and encoded again. */
const bytewise: TextCoding = {
  decode: (bytes) => bytes.toString('latin1'),
  encode: (text) => Buffer.from(text, 'latin1'),
  ofText: (text) => Buffer.from(text, 'utf8').toString('latin1'),
}

/** `utf16le` without its mark; lone surrogates come through whole. */
const utf16le: TextCoding = {
  decode: (bytes) => bytes.toString('utf16le', 2),
  encode: (text) => Buffer.from(mark + text, 'utf16le'),
  ofText: markedUtf8.ofText,
}

const utf16be: TextCoding = {
  decode: (bytes) => utf16le.decode(Buffer.from(bytes).swap16()),
  encode: (text) => utf16le.encode(text).swap16(),
  ofText: markedUtf8.ofText,
}

/** UTF-8 or UTF-16, with a byte order mark kept out of the text, or bytes as they are. */
export function codingOf(bytes: Buffer): TextCoding {
  const isEven = bytes.length % 2 === 0
  if (isEven && bytes[0] === 0xff && bytes[1] === 0xfe) return utf16le
  if (isEven && bytes[0] === 0xfe && bytes[1] === 0xff) return utf16be
  if (!isUtf8(bytes)) return bytewise
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? markedUtf8 : utf8
}

/** Throws `bad-text` for half a surrogate pair: no file can hold it, and as old text it would tear a character apart. */
export function assertWholeCharacters(texts: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(texts)) {
    if (!/\p{Surrogate}/u.test(text)) continue
    throw new RuntimeError(
      'bad-text',
      `${name} has half of a character (a lone surrogate, \\ud800 to \\udfff); nothing was changed. Give the whole character.`,
    )
  }
}
