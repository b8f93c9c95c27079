import type { CallResult, JobResult } from '../core/records.ts'
import { resultText } from '../session/build-messages.ts'

/** A child's result as its parent's journal holds it: a text over the limit keeps head and tail around a pointer to the whole. */
export function resultForParent(result: JobResult, alias: string, maxChars: number): JobResult {
  return { ...result, text: shorten(result.text, alias, maxChars) }
}

/** The same as the result of a foreground `task` call. */
export function callResultOf(result: JobResult, alias: string): CallResult {
  const isError = result.state !== 'completed'
  return { output: resultText(result) || '(no text)', isError, how: isError ? 'error' : 'ok', title: alias }
}

function shorten(text: string, alias: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const half = Math.floor(maxChars / 2)
  const head = wholeCharacters(text.slice(0, half))
  const tail = text.slice(-half).replace(/^[\udc00-\udfff]/, '')
  const dropped = text.length - head.length - tail.length
  return `${head}\n... [${dropped} characters left out; read_sub_agent with job "${alias}" shows all] ...\n${tail}`
}

function wholeCharacters(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '')
}
