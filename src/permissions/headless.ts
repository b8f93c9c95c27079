import type { Rule } from '../core/permission.ts'

/** What was not done; `grant`: the rule that would have allowed it, when it is another than of the key and pattern. */
export type Unasked = { key: string; pattern: string; title?: string; grant?: Pick<Rule, 'key' | 'pattern'> }

const maxPattern = 120

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
