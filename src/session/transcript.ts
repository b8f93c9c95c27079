import type { JournalRecord } from '../core/records.ts'
import type { HistoryItem, SessionState } from '../core/state.ts'
import { resultText } from './build-messages.ts'
import { fold } from './fold.ts'

/** One entry of a conversation for people. */
export type TranscriptLine = {
  role: 'user' | 'assistant' | 'call' | 'result' | 'sub-agent'
  title: string
  text: string
}

/** What was said and done in a session, oldest first. */
export function transcriptOf(records: Iterable<JournalRecord>): TranscriptLine[] {
  const state = fold(records)
  return [...state.history.flatMap(linesOf), ...openLines(state)]
}

/** The same as one text, as `read_sub_agent` pages through it. */
export function transcriptText(records: Iterable<JournalRecord>): string {
  const blocks = transcriptOf(records).map(({ title, text }) => (text === '' ? `## ${title}` : `## ${title}\n${text}`))
  return blocks.join('\n\n')
}

function linesOf(item: HistoryItem): TranscriptLine[] {
  switch (item.kind) {
    case 'user':
      return [{ role: 'user', title: 'user', text: item.text }]
    case 'summary':
      return [{ role: 'user', title: 'summary of what came before', text: item.text }]
    case 'assistant':
      return [
        ...(item.text === '' ? [] : [{ role: 'assistant' as const, title: 'assistant', text: item.text }]),
        ...item.calls.map(({ id, tool, args, invalid }) => ({
          role: 'call' as const,
          title: `call ${id} ${tool}`,
          text: invalid ?? JSON.stringify(args),
        })),
      ]
    case 'result':
      return [
        { role: 'result', title: `result ${item.call} ${item.tool}${mark(item.result.how)}`, text: item.result.output },
      ]
    case 'sub-agent-result':
      return [
        {
          role: 'sub-agent',
          title: `result of ${item.alias} (${item.agent}, ${item.result.state})`,
          text: resultText(item.result),
        },
      ]
  }
}

/** What is not yet in history: answered calls before their boundary, open calls, waiting messages, a reply that was cut off. */
function openLines(state: SessionState): TranscriptLine[] {
  const calls = state.calls.map(({ id, tool, result, ask }) => ({
    role: 'result' as const,
    title: `result ${id} ${tool}${result ? mark(result.how) : ' (open)'}`,
    text: result?.output ?? (ask && !ask.answer ? `waits for permission: ${ask.title}` : ''),
  }))
  const waiting = state.mailbox.map(({ message }) =>
    message.kind === 'user'
      ? { role: 'user' as const, title: 'user (waiting)', text: message.text }
      : { role: 'sub-agent' as const, title: `result of ${message.alias} (waiting)`, text: resultText(message.result) },
  )
  const partial = state.partial
    ? [{ role: 'assistant' as const, title: 'assistant (unfinished)', text: state.partial }]
    : []
  return [...partial, ...calls, ...waiting]
}

function mark(how: string): string {
  return how === 'ok' ? '' : ` (${how})`
}
