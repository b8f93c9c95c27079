import type { ModelMessage } from '../core/model.ts'
import { findImage } from '../tools/kept-images.ts'

/** Bytes of images that one request may carry. */
const maxBytes = 12_000_000
/** What stays once there are more: not just below, or each new image would change the beginning of the conversation. */
const keptBytes = 6_000_000

type Shown = Extract<ModelMessage, { role: 'tool' }>

/** One object for each, however often it is sent: what is made of it is kept as well. */
const attached = new WeakMap<Shown, { message: Shown; isSent: boolean }>()

/**
 * The conversation with the images of its results loaded from a session's outputs, `dir`; the newest ones, as far as there
 * is room. Where one cannot be shown, its result says so.
 */
export function attachImages(
  messages: ModelMessage[],
  { dir, vision }: { dir: string; vision: boolean },
): ModelMessage[] {
  const shown = messages.filter(hasImages)
  if (shown.length === 0) return messages
  const sent = new Set(vision ? newest(shown) : [])
  const why = vision ? 'made room for newer images; read it again to see it' : 'not shown: this model sees no images'
  return messages.map((message) => (hasImages(message) ? known(message, sent.has(message), { dir, why }) : message))
}

function hasImages(message: ModelMessage): message is Shown {
  return message.role === 'tool' && (message.images?.length ?? 0) > 0
}

/** Those that fit, decided from the first on: the same beginning gives the same answer. */
function newest(shown: readonly Shown[]): Shown[] {
  let kept: Shown[] = []
  for (const message of shown) {
    kept.push(message)
    if (sizeOf(kept) <= maxBytes) continue
    while (kept.length > 1 && sizeOf(kept) > keptBytes) kept = kept.slice(1)
  }
  return kept
}

function sizeOf(messages: readonly Shown[]): number {
  return messages.reduce((sum, { images = [] }) => sum + images.reduce((all, { bytes }) => all + bytes, 0), 0)
}

function known(message: Shown, isSent: boolean, place: { dir: string; why: string }): Shown {
  const before = attached.get(message)
  if (before?.isSent === isSent) return before.message
  const made = isSent ? loaded(message, place.dir) : without(message, place.why)
  attached.set(message, { message: made, isSent })
  return made
}

function loaded(message: Shown, dir: string): Shown {
  const images = (message.images ?? []).flatMap((image) => {
    const data = findImage(dir, image)?.toString('base64')
    return data === undefined ? [] : [{ ...image, data }]
  })
  return images.length > 0 ? { ...message, images } : without(message, 'no longer stored; read it again')
}

function without({ images: _, ...message }: Shown, why: string): Shown {
  return { ...message, output: `${message.output}\n[the image is ${why}]` }
}
