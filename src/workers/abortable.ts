/** The promise's outcome, or the signal's reason as soon as it is aborted. What the promise does later is dropped. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Resolves after `delayMs`, or rejects with the signal's reason. */
export function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, delayMs)
  })
  return abortable(elapsed, signal).finally(() => clearTimeout(timer))
}
