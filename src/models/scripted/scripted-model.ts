import { RuntimeError } from '../../core/errors.ts'
import type { Model, ModelDelta, ModelReply, ModelSpec } from '../../core/model.ts'
import { decodeArguments } from '../decode-arguments.ts'
import { modelError, refusalError } from '../model-errors.ts'
import { untilAborted } from '../pause.ts'
import { type Answer, answerRequest } from './answer.ts'
import { createImitation, type Imitation, promptText } from './imitation.ts'
import { type Ending, playAnswer, type Step } from './play.ts'
import { loadScript } from './script-file.ts'
import type { Script, ScriptFault } from './script-schema.ts'

/** Plays a script in this thread. What the script imitates of a server (its queue, its load) is shared by the thread. */
export function createScriptedModel(spec: Extract<ModelSpec, { provider: 'scripted' }>): Model {
  return {
    profile: spec.profile,
    async stream(request, onDelta, signal) {
      signal.throwIfAborted()
      const script = loadScript(spec.path)
      const offered = spec.profile.tools ? request : { ...request, tools: [] }
      const answer = answerRequest(script, offered)
      const text = script.server?.prefillTps ? promptText(offered) : ''
      return play({ answer, imitation: imitationOf(script), numCtx: request.contextTokens, text, onDelta, signal })
    },
  }
}

type Performance = {
  answer: Answer
  imitation: Imitation
  numCtx: number
  /** What the imitated server reads. */
  text: string
  onDelta: (delta: ModelDelta) => void
  signal: AbortSignal
}

async function play({ answer, imitation, numCtx, text, onDelta, signal }: Performance): Promise<ModelReply> {
  const { fault, usage } = answer
  const prompt = { tokens: usage.inputTokens, numCtx, truncate: false, text }
  const { promptTokens, leave } = await imitation.admit(prompt, signal).catch(explainRefusal)
  try {
    if (fault?.status !== undefined) throw statusFault(fault, fault.status)
    if (fault?.hang) await untilAborted(signal)
    const said: Step[] = []
    const stage = { step: (step: Step) => perform(step, said, onDelta), flush: () => {} }
    const ending = await playAnswer(answer, imitation, stage, signal)
    if (ending !== 'done') await failStream(ending, signal)
    return replyOf(answer, said, promptTokens)
  } finally {
    leave()
  }
}

function perform(step: Step, said: Step[], onDelta: (delta: ModelDelta) => void): void {
  said.push(step)
  if (step.type !== 'calls') onDelta(step)
}

function replyOf(answer: Answer, said: readonly Step[], promptTokens: number): ModelReply {
  const calls = said.flatMap((step) => (step.type === 'calls' ? step.calls : []))
  return {
    text: answer.text,
    thinking: answer.thinking,
    calls: calls.map(({ tool, args }) => ({ tool, ...decodeArguments(args) })),
    usage: { inputTokens: promptTokens, outputTokens: answer.usage.outputTokens },
    finish: answer.finish,
    warnings: [],
  }
}

const refuser = { server: 'The script', model: 'the scripted model' }

function explainRefusal(error: unknown): never {
  if (!(error instanceof RuntimeError) || error.code !== 'refused') throw error
  throw refusalError({ ...refuser, status: 400, text: error.message })
}

function statusFault({ message, retryAfter }: ScriptFault, status: number): Error {
  return refusalError({ ...refuser, status, text: message ?? faultText(status), retryAfter: retryAfter?.toString() })
}

/** What a scripted server says of a `status` fault without `message`. */
export function faultText(status: number): string {
  return `fault ${status} of the script`
}

async function failStream(ending: Exclude<Ending, 'done'>, signal: AbortSignal): Promise<never> {
  if (ending === 'stall') return untilAborted(signal)
  throw modelError('model-incomplete', `The reply broke off (the script's fault: ${ending}).`)
}

const imitations = new WeakMap<Script, Imitation>()

function imitationOf(script: Script): Imitation {
  const known = imitations.get(script)
  if (known) return known
  const made = createImitation(script.server)
  imitations.set(script, made)
  return made
}
