import type { MailboxMessage } from '../core/state.ts'
import { resultText } from './build-messages.ts'

/**
 * Which waiting messages (by seq) one boundary places: every text of a user, and as many results, in their order, as there
 * is room for, one at least. What is left comes with the next turn. `room`: characters of results.
 */
export function fittingMessages(mailbox: Iterable<MailboxMessage>, room = Number.POSITIVE_INFINITY): number[] {
  let used = 0
  let isFull = false
  const fitting: number[] = []
  for (const { seq, message } of mailbox) {
    if (message.kind === 'result') {
      const size = resultText(message.result).length
      isFull ||= used > 0 && used + size > room
      if (isFull) continue
      used += Math.max(1, size)
    }
    fitting.push(seq)
  }
  return fitting
}
