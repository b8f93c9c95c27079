import { TextDecoder } from 'node:util'

const metaBytes = 2048

/** The text of a page: in the encoding of its byte order mark, its header, or its own `<meta>`, else UTF-8. */
export function decodeText(bytes: Buffer, contentType: string): string {
  const label = markOf(bytes) ?? /charset\s*=\s*"?([\w:.-]+)/i.exec(contentType)?.[1] ?? metaOf(bytes) ?? 'utf-8'
  return decoderFor(label).decode(bytes)
}

function markOf(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : undefined
}

function metaOf(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1', 0, metaBytes)
  return (
    /<meta[^>]+charset\s*=\s*["']?([\w:.-]+)/i.exec(head)?.[1] ??
    /^<\?xml[^>]+encoding\s*=\s*["']([\w:.-]+)/i.exec(head)?.[1]
  )
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder('utf-8') // An encoding that nobody knows.
  }
}
