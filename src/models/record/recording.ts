import { stringify } from 'yaml'
import type { ModelRequest } from '../../core/model.ts'
import type { ModelDetails } from '../ollama/server-api.ts'
import { factsOf, type ScriptFacts } from '../scripted/facts.ts'
import { escapeTemplate } from '../scripted/template.ts'
import type { RecordedReply } from './read-reply.ts'
import { removedMark, removeSecrets, removeSecretsWithin } from './remove-secrets.ts'

/** How a server refused. `retryAfter` is in seconds. */
export type RecordedFault = { status: number; message: string; retryAfter?: number }

/** Collects what was asked and answered, and writes it as a script. */
export type Recording = {
  describe(details: ModelDetails): void
  add(request: ModelRequest, answer: RecordedReply | RecordedFault): void
  /** A script for `scripted:FILE`, without secrets. */
  toYaml(): string
}

type Conditions = Record<string, string | number>
type Rule = { when: Conditions; reply: Record<string, unknown> }

const comment = `# Recorded by troupe record; play it with --model scripted:FILE. Secrets were removed by their form: read it before you
# share it. The rules at the end answer conversations that take other turns than the recorded ones.
`

export function createRecording(): Recording {
  const rules = new Map<string, Rule>()
  const lastAnswers = new Map<string, Rule>()
  let model: Record<string, unknown> | undefined

  return {
    describe({ contextLimit, parameters, tools, vision }) {
      model = {
        context: contextLimit,
        ...(parameters !== undefined && { parameters }),
        tools,
        ...(vision && { vision }),
      }
      if (contextLimit === undefined) delete model.context
    },
    add(request, answer) {
      const facts = factsOf(request)
      const when = exactConditions(facts)
      const key = JSON.stringify(when)
      if ('status' in answer) {
        const { attempt } = facts
        return void rules.set(`${key}#${attempt}`, { when: { ...when, attempt }, reply: faultReply(answer) })
      }
      // A client that does not number its attempts asks the same again after a fault: its success counts.
      rules.delete(`${key}#${facts.attempt}`)
      if (!rules.has(key)) rules.set(key, { when, reply: plainReply(answer) })
      if (answer.calls.length > 0) return
      const loose = looseConditions(facts)
      lastAnswers.set(JSON.stringify(loose), { when: loose, reply: plainReply(answer) })
    },
    toYaml() {
      return (
        comment +
        stringify({ ...(model && { model }), rules: [...rules.values(), ...lastAnswers.values()] }, { lineWidth: 0 })
      )
    },
  }
}

/** Nothing in them names a session or a time: the same run another day asks the same. */
function exactConditions(facts: ScriptFacts): Conditions {
  const { turn, last, results } = facts
  return { ...looseConditions(facts), turn, last, ...(results > 0 && { results }) }
}

function looseConditions({ agent, depth, purpose, prompt, results }: ScriptFacts): Conditions {
  return {
    ...(agent !== '' && { agent: agent.replace(/[*?]/g, '?'), depth }),
    ...(purpose === 'compaction' && { purpose }),
    prompt: promptPattern(prompt),
    ...(results > 0 && { results: `>=${results}` }),
  }
}

const longestPrompt = 400

/** Matches this prompt alone, whatever secret it holds. */
function promptPattern(prompt: string): string {
  const text = removeSecrets(prompt)
  if (text.length <= longestPrompt) return `^${escapePattern(text)}$`
  return `^${escapePattern(text.slice(0, longestPrompt - 100))}[\\s\\S]*${escapePattern(text.slice(-100))}$`
}

function escapePattern(text: string): string {
  const pieces = text.split(removedMark)
  return pieces.map((piece) => piece.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('[\\s\\S]*')
}

function plainReply({ text, thinking, calls, usage, finish }: RecordedReply): Rule['reply'] {
  return {
    ...(text !== '' && { text: playable(text) }),
    ...(thinking !== '' && { thinking: playable(thinking) }),
    ...(calls.length > 0 && { calls: calls.map(({ tool, args }) => ({ tool, args: playable(args) })) }),
    usage,
    ...(finish === 'length' && { finish }),
  }
}

function faultReply({ status, message, retryAfter }: RecordedFault): Rule['reply'] {
  const fault = { status, message: removeSecrets(message), ...(retryAfter !== undefined && { retryAfter }) }
  return { fault }
}

function playable(value: unknown): unknown {
  return escapeWithin(removeSecretsWithin(value))
}

function escapeWithin(value: unknown): unknown {
  if (typeof value === 'string') return escapeTemplate(value)
  if (Array.isArray(value)) return value.map(escapeWithin)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escapeWithin(item)]))
}
