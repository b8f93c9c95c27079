import { textTokens } from '../estimate-tokens.ts'
import { pause } from '../pause.ts'
import { type Answer, callTokens, type ScriptedCall } from './answer.ts'
import type { Imitation } from './imitation.ts'

/** One chunk of an answer. */
export type Step = { type: 'text' | 'thinking'; text: string } | { type: 'calls'; calls: ScriptedCall[] }

/** How an answer ended: as it should, or in a fault that whoever plays it has to act out. */
export type Ending = 'done' | 'stall' | 'cut' | 'garbage'

export type Stage = {
  step(step: Step): void
  /** Before each wait: what was said so far must be heard. */
  flush(): void
}

const unpacedChunks = 40

/** Says an answer chunk by chunk, at its pace. Rejects with the signal's reason. */
export async function playAnswer(
  answer: Answer,
  imitation: Imitation,
  stage: Stage,
  signal: AbortSignal,
): Promise<Ending> {
  const wait = async (delayMs: number) => {
    if (delayMs <= 0) return
    stage.flush()
    await pause(delayMs, signal)
  }
  const fault = streamFault(answer)
  await wait(answer.delayMs)
  let sent = 0
  for (const step of stepsOf(answer, imitation)) {
    if (sent === fault?.after) return fault.ending
    await wait(answer.chunkMs + imitation.writeMs(tokensOf(step)))
    stage.step(step)
    sent++
  }
  return fault?.ending ?? 'done'
}

function streamFault({ fault }: Answer): { ending: Ending; after: number } | undefined {
  for (const ending of ['stall', 'cut', 'garbage'] as const) {
    const after = fault?.[ending]
    if (after !== undefined) return { ending, after }
  }
  return undefined
}

function stepsOf(answer: Answer, imitation: Imitation): Step[] {
  const paced = answer.chunkMs > 0 || answer.fault !== undefined || imitation.writeMs(1) > 0
  const most = paced ? Number.POSITIVE_INFINITY : unpacedChunks
  const calls = imitation.holdCalls ? [answer.calls] : answer.calls.map((call) => [call])
  return [
    ...split(answer.thinking, most).map((text): Step => ({ type: 'thinking', text })),
    ...split(answer.text, most).map((text): Step => ({ type: 'text', text })),
    ...calls.filter((held) => held.length > 0).map((held): Step => ({ type: 'calls', calls: held })),
  ]
}

/** Word by word; several words to a chunk if there would be more than `most` chunks. */
function split(text: string, most: number): string[] {
  const words = text.match(/\S+\s*|\s+/g) ?? []
  if (words.length <= most) return words
  const size = Math.ceil(words.length / most)
  return Array.from({ length: Math.ceil(words.length / size) }, (_, index) =>
    words.slice(index * size, (index + 1) * size).join(''),
  )
}

function tokensOf(step: Step): number {
  return step.type === 'calls' ? callTokens(step.calls) : textTokens(step.text)
}
