import { randomBytes } from 'node:crypto'
import { RuntimeError } from './errors.ts'

declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** A session: `[a-z0-9][a-z0-9-]*`. A child's id is its parent's id, `-` and its alias, so it can be derived again after a crash. */
export type SessionId = Branded<'SessionId'>
/** A job. Equal to the id of the child session that does it. */
export type JobId = Branded<'JobId'>
/** A tool call within a session, `c<turn>.<n>`; ours, never the model's. */
export type CallId = Branded<'CallId'>
/** A permission question: `<session>/<call>#<generation>`. */
export type AskId = Branded<'AskId'>
/** A worker thread, `w<n>`, rising per process. */
export type WorkerId = Branded<'WorkerId'>

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
const maxIdLength = 200

/** A fresh root session id of 20 letters and digits. */
export function newSessionId(): SessionId {
  return Array.from(randomBytes(20), (byte) => alphabet[byte % alphabet.length]).join('') as SessionId
}

/** Throws `bad-session-id` for anything that could not be a folder's name everywhere. */
export function parseSessionId(text: string): SessionId {
  if (/^[a-z0-9][a-z0-9-]*$/.test(text) && text.length <= maxIdLength) return text as SessionId
  throw new RuntimeError(
    'bad-session-id',
    `"${text}" is no session id. Use lower-case letters, digits and dashes, at most ${maxIdLength}.`,
  )
}

export function childSessionId(parent: SessionId, alias: string): SessionId {
  return `${parent}-${alias}` as SessionId
}

/** The n-th call (from 1) of a turn. */
export function callId(turn: number, n: number): CallId {
  return `c${turn}.${n}` as CallId
}

export function askId(session: SessionId, call: CallId, generation: number): AskId {
  return `${session}/${call}#${generation}` as AskId
}
