import type { Rule } from '../core/permission.ts'

/** What was not done; `grant`: the rule that would have allowed it, when it is another than of the key and pattern. */
export type Unasked = { key: string; pattern: string; title?: string; grant?: Pick<Rule, 'key' | 'pattern'> }

const maxPattern = 120

/** For the model: a tool that its agent would have was taken, as nobody has trusted the folder that the agent comes from. */
export function untrustedText(tool: string): string {
  return [
    `Denied, and not done: ${tool}.`,
    'This agent comes from a folder that nobody has trusted, and with no one to ask such an agent may only read.',
    'Go on without it, or end and say what you need.',
    'Whoever started the run can trust the folder: troupe trust, or --trust for one run.',
  ].join(' ')
}

/** For the model: a question was put to people, and none of them answered in `timeoutMs`. */
export function unansweredText({ key, pattern, title }: Unasked, timeoutMs: number): string {
  const what = title === undefined || title === '' ? `${key} ${oneLine(pattern)}` : oneLine(title)
  return `Denied, and not done: ${what}. It needs permission, and nobody answered within ${timeoutMs / 1000} s. Go on without it, or end and say what you need.`
}

/** For the model: a call was denied because nobody could be asked. Names the flags that would have allowed it. */
export function deniedText({ key, pattern, title, grant = { key, pattern } }: Unasked): string {
  const what = title === undefined || title === '' ? `${key} ${oneLine(pattern)}` : oneLine(title)
  return [
    `Denied, and not done: ${what}.`,
    'It needs permission, and nobody was asked: this run has no one to ask.',
    'Go on without it, or end and say what you need.',
    `Whoever started the run can allow it with --allow '${grant.key}:${shown(grant.pattern)}', or all such with --permission allow.`,
  ].join(' ')
}

function shown(pattern: string): string {
  return pattern.length > maxPattern || /['\n\r\0]/.test(pattern) ? 'PATTERN' : pattern
}

function oneLine(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  return line.length > maxPattern ? `${line.slice(0, maxPattern)}...` : line
}
