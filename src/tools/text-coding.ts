import { isUtf8 } from 'node:buffer'

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

/** UTF-8, with a byte order mark kept out of the text, or bytes as they are. */
export function codingOf(bytes: Buffer): TextCoding {
  if (!isUtf8(bytes)) return bytewise
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? markedUtf8 : utf8
}
