import type { IncomingHttpHeaders } from 'node:http'
import type { SessionId } from '../core/ids.ts'
import type { ModelMessage, RequestFacts } from '../core/model.ts'

/** Who asks, as headers: sent to servers of our own only. */
export function toFactHeaders(facts: RequestFacts): Record<string, string> {
  return {
    'x-troupe-agent': headerText(facts.agent),
    'x-troupe-depth': String(facts.depth),
    'x-troupe-session': facts.session,
    'x-troupe-turn': String(facts.turn),
    'x-troupe-attempt': String(facts.attempt),
    'x-troupe-purpose': facts.purpose,
  }
}

/** Other programs send no such headers: their turn is told from the messages, and they have no agent. */
export function fromFactHeaders(headers: IncomingHttpHeaders, messages: readonly ModelMessage[]): RequestFacts {
  const text = (name: string) => headers[`x-troupe-${name}`]?.toString()
  return {
    agent: plainText(text('agent') ?? ''),
    depth: number(text('depth'), 0),
    session: (text('session') ?? '') as SessionId,
    turn: number(text('turn'), countTurns(messages) + 1),
    attempt: number(text('attempt'), 1),
    purpose: text('purpose') === 'compaction' ? 'compaction' : 'turn',
  }
}

/** Results of sub-agents enter history as calls that no model made: these are no turns. */
function countTurns(messages: readonly ModelMessage[]): number {
  return messages.filter(
    (message) =>
      message.role === 'assistant' &&
      !(message.calls.length > 0 && message.calls.every(({ tool }) => tool === 'sub_agent_result')),
  ).length
}

function number(text: string | undefined, missing: number): number {
  const value = Number(text ?? Number.NaN)
  return Number.isFinite(value) ? value : missing
}

/** A header takes printable ASCII only; `%` marks what was encoded. */
function headerText(text: string): string {
  return /^[\x20-\x24\x26-\x7e]*$/.test(text) ? text : encodeURIComponent(text)
}

function plainText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // Sent by another program, with a bare `%`.
    return text
  }
}
