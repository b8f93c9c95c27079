import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline/promises'
import type { PermissionAsk } from '../../core/events.ts'
import type { AskAnswer } from '../../core/permission.ts'
import { columnsOf, type Screen } from '../terminal/live-area.ts'
import type { Style } from '../terminal/style.ts'
import { askBlock, asker, parseChoice } from './ask-lines.ts'

/** Asks a person at the terminal, one question after the other. */
export interface AskDesk {
  /** Resolves with the answer; with a rejection that counts for nothing when the ask was withdrawn meanwhile. */
  ask(ask: PermissionAsk): Promise<AskAnswer>
  /** Takes a question away, shown or still waiting. */
  withdraw(id: string): void
  /** Withdraws all. */
  close(): void
}

export type AskDeskOptions = {
  stdin: NodeJS.ReadableStream
  screen: Screen & NodeJS.WritableStream
  style: Style
  /** Around each question: the screen is the question's alone. */
  pause(): void
  resume(): void
  /** Ctrl-C while a question reads keys: the terminal makes no signal of it then. */
  interrupt(): void
}

const withdrawn: AskAnswer = { decision: 'reject' }
/** Keys pressed before a question could be read answer nothing. */
const discardMs = 50

export function createAskDesk(options: AskDeskOptions): AskDesk {
  const open = new Map<string, AbortController>()
  let last: Promise<unknown> = Promise.resolve()

  async function inTurn(ask: PermissionAsk, signal: AbortSignal): Promise<AskAnswer> {
    if (signal.aborted) return withdrawn
    options.pause()
    try {
      return await askPerson(ask, options, signal)
    } finally {
      options.resume()
    }
  }

  return {
    ask(ask) {
      const controller = new AbortController()
      open.set(ask.id, controller)
      const answer = last.then(() => inTurn(ask, controller.signal)).finally(() => open.delete(ask.id))
      last = answer.catch(() => {
        // The caller of `ask` hears of it; the next question is asked all the same.
      })
      return answer
    },
    withdraw(id) {
      open.get(id)?.abort()
    },
    close() {
      for (const controller of open.values()) controller.abort()
    },
  }
}

async function askPerson(ask: PermissionAsk, options: AskDeskOptions, signal: AbortSignal): Promise<AskAnswer> {
  await discardTypedAhead(options.stdin)
  if (signal.aborted) return withdrawn
  const keys = createInterface({ input: options.stdin, output: options.screen, terminal: true, historySize: 0 })
  const ended = new AbortController()
  keys.once('close', () => ended.abort())
  keys.on('SIGINT', options.interrupt)
  const conversation = { ask, options, keys, signal: AbortSignal.any([signal, ended.signal]), rows: 0 }
  try {
    return await converse(conversation)
  } catch (error) {
    if (!conversation.signal.aborted) throw error
    if (signal.aborted) takeAway(conversation)
    return withdrawn
  } finally {
    keys.close()
  }
}

/** `rows`: lines written so far, the one with the cursor included. */
type Conversation = {
  ask: PermissionAsk
  options: AskDeskOptions
  keys: Interface
  signal: AbortSignal
  rows: number
}

async function converse(talk: Conversation): Promise<AskAnswer> {
  show(talk, false)
  for (;;) {
    const choice = parseChoice(await question(talk, `${letters(talk.ask)} > `), talk.ask)
    if (choice === 'view') show(talk, true)
    else if (choice === 'tell') return { decision: 'reject', text: await question(talk, 'Why not? > ') }
    else if (choice !== undefined) return choice.answer
  }
}

function letters(ask: PermissionAsk): string {
  return ask.always === undefined ? 'y/n/t' : 'y/n/t/a'
}

function show(talk: Conversation, whole: boolean): void {
  const { screen, style } = talk.options
  const lines = askBlock(talk.ask, { columns: columnsOf(screen), style, whole })
  screen.write(`${lines.join('\n')}\n`)
  talk.rows += lines.length
}

async function question(talk: Conversation, text: string): Promise<string> {
  talk.rows += 1
  return await talk.keys.question(text, { signal: talk.signal })
}

/** Removes a question that nobody needs to answer any more, or says so where it has scrolled too far. */
function takeAway({ ask, options: { screen }, rows }: Conversation): void {
  if (rows < (screen.rows ?? 24)) screen.write(`${rows > 1 ? `\x1b[${rows - 1}A` : ''}\r\x1b[J`)
  else screen.write(`\n${asker(ask)} asks no longer.\n`)
}

async function discardTypedAhead(stdin: NodeJS.ReadableStream): Promise<void> {
  const drop = () => {}
  stdin.on('data', drop)
  stdin.resume()
  await Promise.race([once(stdin, 'end').catch(drop), new Promise((resolve) => setTimeout(resolve, discardMs))])
  stdin.removeListener('data', drop)
  stdin.pause()
}
