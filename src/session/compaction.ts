import { tokensPerImage } from '../core/model.ts'
import type { Todo } from '../core/records.ts'
import type { HistoryItem, SessionState } from '../core/state.ts'
import { resultText } from './build-messages.ts'

const charsPerToken = 4

/** What a compaction replaces: everything placed up to `uptoSeq`, told as `transcript` to whoever sums it up. */
export type CompactionPlan = { uptoSeq: number; replaced: HistoryItem[]; transcript: string }

export type CompactionRoom = {
  /** Tokens of recent history that may stay as they are. */
  keepTokens: number
  /** The same for the last exchange, which the model has not answered yet. */
  freshTokens: number
  /** Longest transcript, in characters. */
  maxChars: number
}

/**
 * Where to cut: before an assistant message, so that no call is separated from its result, as early as the room for what
 * stays allows. `undefined`: there is nothing to gain, or a call's result is not in history.
 */
export function planCompaction(state: SessionState, room: CompactionRoom): CompactionPlan | undefined {
  if (state.calls.length > 0) return undefined
  const from = tailStart(state.history, room)
  const replaced = state.history.slice(0, from)
  const uptoSeq = replaced.at(-1)?.seq
  const gained = replaced.filter(({ kind }) => kind !== 'summary').length
  if (uptoSeq === undefined || gained < 2) return undefined
  return { uptoSeq, replaced, transcript: clippedTranscript(replaced, room.maxChars) }
}

/**
 * The summary as it enters history: the model's words, then what the journal knows for certain. Both are cut to
 * `maxChars`, the words to what the facts leave, which is at least half.
 */
export function summaryText(state: SessionState, words: string, maxChars = Number.POSITIVE_INFINITY): string {
  const facts = factLines(state, maxChars / 2)
  const room = Math.max(minWordChars, maxChars - facts.join('').length - opening.length)
  return [opening, clip(words.trim(), room), ...facts].join('\n\n')
}

const opening = '[The conversation before this point was summed up to save room.]'
const minWordChars = 200

/** A summary without a model: what was said and found last, as much as there is room for. */
export function plainSummary({ replaced }: Pick<CompactionPlan, 'replaced'>, maxChars: number): string {
  const last = replaced.slice(1).filter((item) => itemText(item).trim() !== '')
  if (last.length === 0) return 'Nothing was concluded yet.'
  return `What was said last:\n${clippedTranscript(last.slice(-shownItems), maxChars / 2)}`
}

const shownItems = 12

/** What the model is asked when it sums up. */
export const compactionPrompt = {
  system:
    'You sum up a conversation between an agent, its tools and its sub-agents, so that the agent can go on from your summary alone. Be exact and short.',
  ask: 'Write the summary: the task and its constraints; what was decided and why; what was found, with file paths, names and numbers; what was changed; what failed; what is left to do next. No preamble.',
}

/** Index of the first item that stays: an assistant message, or the end. */
function tailStart(history: HistoryItem[], { keepTokens, freshTokens }: CompactionRoom): number {
  let start = history.length
  let tokens = 0
  for (let index = history.length - 1; index > 0; index -= 1) {
    const item = history[index]
    if (!item) break
    tokens += itemText(item).length / charsPerToken
    if (item.kind === 'result') tokens += (item.result.images?.length ?? 0) * tokensPerImage
    // The last exchange has the wider bound: what it brought has not been read yet.
    if (tokens > (start === history.length ? Math.max(keepTokens, freshTokens) : keepTokens)) break
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

/** To-dos and jobs before files; each of them loses its oldest entries first. */
function factLines(state: SessionState, maxChars: number): string[] {
  const jobs = jobLine(state, maxChars / 4)
  const todos = todoLines(state, maxChars / 2 - jobs.length)
  const files = fileLine(state, maxChars - jobs.length - todos.length)
  return [todos, files, jobs].filter((part) => part !== '')
}

/** Of a list that is too long, those that are done are left out first. */
function todoLines({ todos }: SessionState, room: number): string {
  if (todos.length === 0) return ''
  const lines = (kept: Todo[]) => kept.map(({ status, content }) => `- [${status}] ${clip(content, maxTodoChars)}`)
  const all = lines(todos)
  if (sizeOf(all) <= room) return ['Your to-do list:', ...all].join('\n')
  const open = lines(todos.filter(({ status }) => status !== 'completed' && status !== 'cancelled'))
  const shown = fitting(open, room)
  const more = open.length - shown.length
  return ['What is open on your to-do list:', ...shown, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n')
}

const maxTodoChars = 300
const maxFiles = 40

function fileLine({ files, seed }: SessionState, room: number): string {
  const paths = Object.keys(files).toReversed().slice(0, maxFiles)
  const dir = `${seed?.dir}/`
  const shown = fitting(
    paths.map((path) => (path.startsWith(dir) ? path.slice(dir.length) : path)),
    room,
  )
  return shown.length === 0 ? '' : `Files you have read or changed: ${shown.toReversed().join(', ')}`
}

function jobLine({ jobs }: SessionState, room: number): string {
  const open = jobs.filter(({ delivered }) => !delivered).map(({ alias, agent }) => `${alias} (${agent})`)
  if (open.length === 0) return ''
  const shown = fitting(open, room)
  const more = open.length - shown.length
  return `Sub-agents at work, their results will come: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** As many of them, from the first on, as there is room for; one at least. */
function fitting(lines: string[], room: number): string[] {
  let left = room
  return lines.filter((line, index) => {
    left -= line.length + 2
    return left >= 0 || index === 0
  })
}

function sizeOf(lines: string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0)
}
