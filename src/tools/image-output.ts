import type { ToolOutput } from './define-tool.ts'
import { imageFileOf } from './image-files.ts'

/** What a model may be shown; a request carries a few of them. */
const maxBytes = 5 * 1024 * 1024
const maxPixels = 50_000_000

/** What reading an image gives; `undefined` when the bytes are none that a model could be shown. */
export function imageOutput({ label, bytes, sees }: { label: string; bytes: Buffer; sees: boolean }) {
  const image = imageFileOf(bytes)
  if (!image) return undefined
  const { kind, mediaType, size, damaged } = image
  const extent = size ? `${size.width} x ${size.height} pixels, ` : ''
  const what = `${label} is a ${kind} image (${extent}${bytes.length} bytes)`
  const output = (text: string): Pick<ToolOutput, 'output' | 'images'> => ({ output: `${what}${text}` })
  if (!sees) return output('. This model sees no images; only text can be read.')
  if (damaged) return output(`, but ${damaged}: it cannot be shown.`)
  const pixels = size ? size.width * size.height : 0
  if (bytes.length > maxBytes || pixels > maxPixels) {
    return output(`, too large to be shown: at most ${maxBytes} bytes and ${maxPixels} pixels. Make a smaller copy.`)
  }
  return { ...output('; you see it below.'), images: [{ label, mediaType, content: bytes }] }
}
