import type { ModelTimeouts } from '../../core/model.ts'
import { modelError } from '../model-errors.ts'

/** Ends a request that stays silent. `signal` aborts on that, or when the request's own signal does. */
export type Watchdog = { signal: AbortSignal; heard(): void; stop(): void }

export function createWatchdog({ firstByteMs, silenceMs }: ModelTimeouts, outer: AbortSignal): Watchdog {
  const controller = new AbortController()
  const pass = () => controller.abort(outer.reason)
  if (outer.aborted) pass()
  outer.addEventListener('abort', pass, { once: true })
  let timer = setTimeout(() => controller.abort(noAnswer(firstByteMs)), firstByteMs)
  let begun = false

  return {
    signal: controller.signal,
    heard() {
      if (begun) return void timer.refresh()
      begun = true
      clearTimeout(timer)
      timer = setTimeout(() => controller.abort(fellSilent(silenceMs)), silenceMs)
    },
    stop() {
      clearTimeout(timer)
      outer.removeEventListener('abort', pass)
    },
  }
}

function noAnswer(firstByteMs: number): Error {
  const message = `The model server did not answer within ${firstByteMs} ms. Raise firstByteMs of this server in troupe.yaml if the model loads slowly.`
  return modelError('model-failed', message)
}

function fellSilent(silenceMs: number): Error {
  const message = `The model server fell silent for ${silenceMs} ms in the middle of a reply. Raise silenceMs of this server in troupe.yaml if it is slow.`
  return modelError('model-incomplete', message)
}
