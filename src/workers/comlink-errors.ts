import { transferHandlers } from 'comlink'
import { type ErrorData, fromErrorData, toErrorData } from '../core/errors.ts'

type Thrown = { value: unknown }
type Handler = {
  canHandle(value: unknown): value is Thrown
  serialize(thrown: Thrown): [ErrorData, []]
  deserialize(data: ErrorData): never
}

/** Makes comlink carry errors whole: by itself it keeps only name, message and stack. Call once per thread, before any use. */
export function keepErrorsWhole(): void {
  const original = transferHandlers.get('throw') as unknown as Handler | undefined
  if (!original) throw new Error('this comlink has no handler named "throw"; its version has changed')
  const handler: Handler = {
    canHandle: original.canHandle,
    serialize: ({ value }) => [toErrorData(value), []],
    deserialize(data) {
      throw fromErrorData(data)
    },
  }
  transferHandlers.set('throw', handler as never)
}
