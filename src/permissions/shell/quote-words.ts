import type { Word } from './words.ts'

/** Words as one line in which they can be told apart again; what the shell would expand stays as it was written. */
export function textOfWords(words: Word[]): string {
  return words.map(({ text, raw, glob, dynamic, tilde }) => (glob || dynamic || tilde ? raw : quote(text))).join(' ')
}

/** Literal words as one line in which they can be told apart again. */
export function quoteWords(words: string[]): string {
  return words.map(quote).join(' ')
}

function quote(text: string): string {
  return /^[\w@%+=:,./~!^{}-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
