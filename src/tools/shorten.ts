import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Tool, ToolOutput } from './define-tool.ts'
import { headOf, tailOf } from './text.ts'
import type { ToolsetProfile } from './toolsets.ts'

/** A spilled file holds no more than this many characters. */
const maxSpilledChars = 50_000_000

export type ShortenRequest = {
  output: ToolOutput
  keep: Tool['keep']
  profile: ToolsetProfile
  /** File for the whole output; its folder is made when needed. */
  spillPath: string
}

/** Output within the toolset's limit; the whole goes to a file once it is longer. Never splits a surrogate pair. */
export async function shorten({
  output,
  keep = 'both',
  profile,
  spillPath,
}: ShortenRequest): Promise<{ text: string; spilled?: string }> {
  const whole = output.output
  if (whole.length <= profile.maxChars) return { text: whole, spilled: output.spilled }
  const spilled = output.spilled ?? (await spill(whole, spillPath))
  if (profile.shorten === 'end') {
    const mark = '...[truncated]'
    return { text: headOf(whole, profile.maxChars - mark.length) + mark, spilled }
  }
  return { text: around(whole, keep, profile.maxChars, spilled), spilled }
}

function around(whole: string, keep: 'head' | 'tail' | 'both', maxChars: number, spilled: string | undefined): string {
  const where = spilled === undefined ? 'the rest could not be stored' : `full output: ${spilled}`
  const markFor = (dropped: number) => `... [${dropped} chars truncated; ${where} ] ...`
  const room = maxChars - markFor(whole.length).length - 2
  const headChars = keep === 'head' ? room : keep === 'tail' ? 0 : Math.ceil(room / 2)
  const head = headOf(whole, headChars)
  const tail = keep === 'head' ? '' : tailOf(whole, room - headChars)
  const mark = markFor(whole.length - head.length - tail.length)
  return [head, mark, tail].filter((part) => part !== '').join('\n')
}

/** `undefined` when the disk does not take it: a full disk must not cost the call its result. */
async function spill(text: string, path: string): Promise<string | undefined> {
  try {
    await mkdir(join(path, '..'), { recursive: true })
    await writeFile(path, headOf(text, maxSpilledChars))
    return path
  } catch {
    return undefined // The notice says that the rest could not be stored.
  }
}
