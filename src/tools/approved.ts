import { createHash } from 'node:crypto'
import { RuntimeError } from '../core/errors.ts'
import type { PermissionRequest } from '../core/permission.ts'
import type { RecordedCall } from '../core/records.ts'
import type { OpenAsk } from '../core/state.ts'

/** A call as it is about to act: `key` is the one under which it would be asked now. */
export type CallToAct = { call: RecordedCall; wanted: PermissionRequest; key: string }

/**
 * What was approved is what runs: the same arguments, leading to the same place. Throws `changed-since-approval`, also
 * when a link was swapped between the question and the answer.
 */
export function assertApproved(ask: OpenAsk, { call, wanted, key }: CallToAct): void {
  if (ask.argsHash !== undefined && ask.argsHash !== hashOfArgs(call.args)) {
    throw changed('The arguments of this call are not those that were approved. Nothing was done. Make the call again.')
  }
  // A claim that has been given up since asks for nothing any more.
  const isSameKey = ask.key === key || (ask.key === 'claim' && key === 'edit')
  if (isSameKey && ask.pattern === wanted.pattern) return
  if (key === 'claim' && ask.pattern === wanted.pattern) {
    throw changed(`Since this was approved, ${wanted.claim}; nothing was done.`)
  }
  throw changed(
    `What was approved was ${ask.key} ${ask.pattern}; by now the call would act on ${wanted.pattern}. Nothing was done. Make the call again.`,
  )
}

/** SHA-256 of the arguments as JSON, keys in the order in which the model gave them: a journal keeps that order. */
export function hashOfArgs(args: Record<string, unknown>): string {
  return createHash('sha256').update(JSON.stringify(args)).digest('hex')
}

function changed(message: string): RuntimeError {
  return new RuntimeError('changed-since-approval', message)
}
