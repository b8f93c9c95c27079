import { tokensPerImage } from '../core/model.ts'
import type { HistoryItem, SessionState } from '../core/state.ts'
import { resultText } from './build-messages.ts'
import { openCallCount } from './next-step.ts'

const charsPerToken = 4

/** What a compaction replaces: everything placed up to `uptoSeq`, told as `transcript` to whoever sums it up. */
export type CompactionPlan = { uptoSeq: number; transcript: string }

export type CompactionRoom = {
  /** Tokens of recent history that may stay as they are. */
  keepTokens: number
  /** Longest transcript, in characters. */
  maxChars: number
}

/**
 * Where to cut: before an assistant message, so that no call is separated from its result, as early as the room for what
 * stays allows. `undefined`: there is nothing to gain, or a call is open.
 */
export function planCompaction(
  state: SessionState,
  { keepTokens, maxChars }: CompactionRoom,
): CompactionPlan | undefined {
  if (openCallCount(state) > 0) return undefined
  const from = tailStart(state.history, keepTokens)
  const replaced = state.history.slice(0, from)
  const uptoSeq = replaced.at(-1)?.seq
  const gained = replaced.filter(({ kind }) => kind !== 'summary').length
  if (uptoSeq === undefined || gained < 2) return undefined
  return { uptoSeq, transcript: clippedTranscript(replaced, maxChars) }
}

/** The summary as it enters history: the model's words, then what the journal knows for certain. */
export function summaryText(state: SessionState, words: string): string {
  const facts = [todoLines(state), fileLines(state), jobLines(state)].filter((part) => part !== '')
  return ['[The conversation before this point was summed up to save room.]', words.trim(), ...facts].join('\n\n')
}

/** A summary without a model: the last things that were said. */
export function plainSummary(state: SessionState): string {
  const said = state.history.flatMap((item) =>
    item.kind === 'assistant' && item.text !== '' ? [clip(item.text, 600)] : [],
  )
  return said.length === 0 ? 'Nothing was concluded yet.' : `What you last said:\n${said.slice(-4).join('\n')}`
}

/** What the model is asked when it sums up. */
export const compactionPrompt = {
  system:
    'You sum up a conversation between an agent, its tools and its sub-agents, so that the agent can go on from your summary alone. Be exact and short.',
  ask: 'Write the summary: the task and its constraints; what was decided and why; what was found, with file paths, names and numbers; what was changed; what failed; what is left to do next. No preamble.',
}

/** Index of the first item that stays: an assistant message, or the end. */
function tailStart(history: HistoryItem[], keepTokens: number): number {
  let start = history.length
  let tokens = 0
  for (let index = history.length - 1; index > 0; index -= 1) {
    const item = history[index]
    if (!item) break
    tokens += itemText(item).length / charsPerToken
    if (item.kind === 'result') tokens += (item.result.images?.length ?? 0) * tokensPerImage
    if (tokens > keepTokens) break
    if (item.kind === 'assistant' && isBoundary(history, index)) start = index
  }
  return start
}

/** Nothing before it was placed by a later record. */
function isBoundary(history: HistoryItem[], index: number): boolean {
  const seq = history[index]?.seq ?? 0
  return history.slice(0, index).every((item) => item.seq < seq)
}

/** Long texts lose their middle first, so that every step is still told. */
function clippedTranscript(items: HistoryItem[], maxChars: number): string {
  const texts = items.map(labelled)
  for (const limit of [4000, 1500, 600, 250, 100]) {
    const clipped = texts.map((text) => clip(text, limit)).join('\n\n')
    if (clipped.length <= maxChars) return clipped
  }
  return clip(texts.map((text) => clip(text, 100)).join('\n'), maxChars)
}

function labelled(item: HistoryItem): string {
  const label = {
    user: 'USER',
    summary: 'EARLIER SUMMARY',
    assistant: 'AGENT',
    result: 'TOOL RESULT',
    'sub-agent-result': 'SUB-AGENT RESULT',
  }
  return `${label[item.kind]}: ${itemText(item)}`
}

function itemText(item: HistoryItem): string {
  switch (item.kind) {
    case 'user':
    case 'summary':
      return item.text
    case 'assistant':
      return [item.text, ...item.calls.map(({ tool, args }) => `call ${tool} ${JSON.stringify(args)}`)].join('\n')
    case 'result':
      return `${item.tool}: ${item.result.output}`
    case 'sub-agent-result':
      return `${item.alias}: ${resultText(item.result)}`
  }
}

function clip(text: string, max: number): string {
  if (text.length <= max) return text
  const half = Math.floor((max - 7) / 2)
  return `${text.slice(0, half).replace(/[\ud800-\udbff]$/, '')} [...] ${text.slice(-half).replace(/^[\udc00-\udfff]/, '')}`
}

function todoLines({ todos }: SessionState): string {
  if (todos.length === 0) return ''
  return ['Your to-do list:', ...todos.map(({ status, content }) => `- [${status}] ${content}`)].join('\n')
}

const maxFiles = 40

function fileLines({ files, seed }: SessionState): string {
  const paths = Object.keys(files)
  if (paths.length === 0) return ''
  const dir = `${seed?.dir}/`
  const shown = paths.slice(-maxFiles).map((path) => (path.startsWith(dir) ? path.slice(dir.length) : path))
  return `Files you have read or changed: ${shown.join(', ')}`
}

function jobLines({ jobs }: SessionState): string {
  const open = jobs.filter(({ delivered }) => !delivered)
  if (open.length === 0) return ''
  return `Sub-agents at work, their results will come: ${open.map(({ alias, agent }) => `${alias} (${agent})`).join(', ')}`
}
