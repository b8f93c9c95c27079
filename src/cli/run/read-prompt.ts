import { createInterface } from 'node:readline/promises'
import { RuntimeError } from '../../core/errors.ts'
import { type Io, isInteractive } from '../io.ts'

/**
 * What the user wants done: the words of the command line, stdin for `-`, the environment's TROUPE_DEFAULT_PROMPT, or
 * what is typed at the terminal. Throws `bad-usage` when there is none.
 */
export async function readPrompt(words: string[], io: Io): Promise<string> {
  if (words.length === 1 && words[0] === '-') return filled(await readAll(io.stdin), 'stdin was empty')
  if (words.length > 0) return filled(words.join(' '), 'the prompt is empty')
  if (io.env.TROUPE_DEFAULT_PROMPT) return io.env.TROUPE_DEFAULT_PROMPT
  if (isInteractive(io)) return filled(await askForPrompt(io), 'no prompt given')
  throw new RuntimeError('bad-usage', 'no prompt given. Write: troupe run "what to do", or troupe run - to read stdin')
}

function filled(text: string, problem: string): string {
  if (text.trim() === '') throw new RuntimeError('bad-usage', `${problem}. Write: troupe run "what to do"`)
  return text
}

async function readAll(stdin: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

async function askForPrompt({ stdin, stderr }: Io): Promise<string> {
  const keys = createInterface({ input: stdin, output: stderr })
  const closed = new AbortController()
  keys.once('close', () => closed.abort())
  try {
    return await keys.question('What shall be done? > ', { signal: closed.signal })
  } catch {
    // Ctrl-C or Ctrl-D: nothing was typed.
    return ''
  } finally {
    keys.close()
  }
}
