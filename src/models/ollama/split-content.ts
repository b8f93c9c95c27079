import type { ModelCall, ModelDelta } from '../../core/model.ts'
import { beginsCall, parseCallText } from './parse-call-text.ts'

/** Takes a reply's content piece by piece and tells thinking, answer and calls apart. */
export type ContentSplitter = {
  push(piece: string): void
  /** What is left is decided now. */
  end(): { text: string; thinking: string; calls: ModelCall[] }
}

const openThink = '<think>'
const closeThink = '</think>'
const openCall = '<tool_call>'

type Mode = 'start' | 'thinking' | 'answer' | 'flowing' | 'held'

/** Passes on text as it comes, but holds back what may turn out to be a call. `offered` names the tools of the request. */
export function createContentSplitter(
  offered: readonly string[],
  onDelta: (delta: ModelDelta) => void,
): ContentSplitter {
  const said = { text: '', thinking: '' }
  let mode = 'start' as Mode
  let waiting = ''
  let hasThought = false

  function say(type: ModelDelta['type'], text: string): void {
    if (text === '') return
    said[type] += text
    onDelta({ type, text })
  }

  /** One step with what waits; true if there may be another. */
  const steps: Record<Mode, () => boolean> = {
    start() {
      const begun = waiting.trimStart()
      if (hasThought) waiting = begun
      if (openThink.startsWith(begun)) return begun === openThink && enterThinking(begun)
      return begun.startsWith(openThink) ? enterThinking(begun) : enter('answer')
    },
    thinking() {
      const end = waiting.indexOf(closeThink)
      if (end < 0) {
        const kept = overlap(waiting, closeThink)
        say('thinking', waiting.slice(0, waiting.length - kept))
        waiting = waiting.slice(waiting.length - kept)
        return false
      }
      say('thinking', waiting.slice(0, end))
      waiting = waiting.slice(end + closeThink.length)
      hasThought = true
      return enter('start')
    },
    answer() {
      const verdict = offered.length === 0 ? 'no' : mayBeCall(waiting.trimStart())
      return verdict === 'unsure' ? false : enter(verdict === 'yes' ? 'held' : 'flowing')
    },
    flowing() {
      const call = offered.length === 0 ? -1 : waiting.indexOf(openCall)
      const kept = call >= 0 ? waiting.length - call : offered.length === 0 ? 0 : overlap(waiting, openCall)
      say('text', waiting.slice(0, waiting.length - kept))
      waiting = waiting.slice(waiting.length - kept)
      return call >= 0 && enter('held')
    },
    held: () => false,
  }

  function enter(next: Mode): true {
    mode = next
    return true
  }

  function enterThinking(begun: string): true {
    waiting = begun.slice(openThink.length)
    return enter('thinking')
  }

  return {
    push(piece) {
      waiting += piece
      while (steps[mode]());
    },
    end() {
      const calls = mode === 'held' ? parseCallText(waiting, offered) : undefined
      if (!calls) say(mode === 'thinking' ? 'thinking' : 'text', waiting)
      const { text, thinking } = hasThought ? said : withoutUnopened(said)
      if (calls) return { text: text.trimEnd(), thinking, calls }
      const late = text === said.text ? undefined : parseCallText(text, offered)
      return { text: late ? '' : text, thinking, calls: late ?? [] }
    },
  }
}

type Said = { text: string; thinking: string }

/** Some templates open the thinking themselves: of its tags the model only writes the one that closes, on a line of its own. */
function withoutUnopened({ text, thinking }: Said): Said {
  const [whole, thought] = /^([\s\S]*?)(?<=^|\n)[ \t]*<\/think>[ \t]*(?:\r?\n|$)\s*/.exec(text) ?? []
  if (whole === undefined || thought!.includes(openThink)) return { text, thinking }
  return { text: text.slice(whole.length), thinking: thinking + thought }
}

/** Whether an answer that begins so may be a call written as text. */
function mayBeCall(begun: string): 'yes' | 'no' | 'unsure' {
  if (begun === '' || '```'.startsWith(begun)) return 'unsure'
  if (!begun.startsWith('```')) return beginsCall(begun)
  if (!begun.includes('\n')) return begun.length > 20 ? 'no' : 'unsure'
  return /^```(json|tool_call|tool_code|)\s*\n/i.test(begun) ? 'yes' : 'no'
}

/** Length of the longest end of `text` with which `tag` begins. */
function overlap(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length
  }
  return 0
}
