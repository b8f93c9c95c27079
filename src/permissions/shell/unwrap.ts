import type { Word } from './words.ts'

/** How a program that runs another is taken off: flags alone, flags with a value, and how many words come before the other. */
type Wrapper = { flags?: RegExp; valued?: RegExp; words?: RegExp[]; variables?: true }

/** Every use that is not described here is left as it is: a program that runs others, which no rule with a star allows. */
const wrappers: Record<string, Wrapper> = {
  env: { variables: true },
  timeout: {
    flags: /^(-v|-s\w+|-k[\d.]+[smhd]?|--(preserve-status|foreground|verbose|signal=\w+|kill-after=[\d.]+[smhd]?))$/,
    valued: /^-[sk]$/,
    words: [/^\d+(\.\d+)?[smhd]?$/],
  },
  nice: { flags: /^(-n?-?\d+|--adjustment=-?\d+)$/, valued: /^-n$/ },
  nohup: {},
  command: {},
  time: { flags: /^-p$/ },
  stdbuf: { flags: /^-[ioe](L|\d+[KMG]?)$/, valued: /^-[ioe]$/ },
}

const shells = new Set(['sh', 'bash', 'dash', '/bin/sh', '/bin/bash', '/usr/bin/bash'])
const shellFlags = /^-[euxf]*c$/
const inertVariable = /^(LANG|LC_\w+|TZ|NO_COLOR|CI)=/

/** What a wrapper runs: the words after it, or the script in its argument; undefined when it is none that is known. */
export function unwrap(words: Word[]): { words?: Word[]; script?: string } | undefined {
  const program = words[0]?.text ?? ''
  if (words.some(isOpen)) return undefined
  if (shells.has(program)) {
    const script = words[2]?.text
    return shellFlags.test(words[1]?.text ?? '') && script !== undefined && words.length === 3 ? { script } : undefined
  }
  const wrapper = Object.hasOwn(wrappers, program) ? wrappers[program]! : undefined
  const at = wrapper && skip(wrapper, words)
  return at === undefined ? undefined : { words: words.slice(at) }
}

function isOpen({ dynamic, glob, tilde }: Word, n: number): boolean {
  return n === 0 && (dynamic || glob || tilde)
}

/** Where the other program stands. */
function skip({ flags, valued, words: expected = [], variables }: Wrapper, words: Word[]): number | undefined {
  let at = 1
  for (; words[at]?.text.startsWith('-'); at++) {
    const { text, dynamic } = words[at]!
    if (dynamic) return undefined
    if (flags?.test(text)) continue
    if (!valued?.test(text) || !isLiteral(words[++at])) return undefined
  }
  for (const shape of expected) if (!isLiteral(words[at]) || !shape.test(words[at++]!.text)) return undefined
  while (variables && isLiteral(words[at]) && inertVariable.test(words[at]!.text)) at++
  const next = words[at]
  return isLiteral(next) && !next!.text.startsWith('-') && !next!.text.includes('=') ? at : undefined
}

function isLiteral(word: Word | undefined): boolean {
  return word !== undefined && !word.dynamic && !word.glob && !word.tilde
}
