import { RuntimeError } from '../core/errors.ts'
import { type Model, type ModelRequest, serverOf } from '../core/model.ts'
import { estimateTokens } from '../models/estimate-tokens.ts'
import { buildMessages } from '../session/build-messages.ts'
import { compactionPrompt, plainSummary, planCompaction, summaryText } from '../session/compaction.ts'
import { askModel } from './ask-model.ts'
import type { Activation } from './run-activation.ts'
import { gateOf } from './server-gate.ts'

const charsPerToken = 4

/** Tokens that are left for the reply. */
function replyReserve(contextTokens: number): number {
  return Math.min(4096, Math.floor(contextTokens / 4))
}

/** True when this request leaves too little of the context for its reply. */
export function isNearlyFull(activation: Activation, request: ModelRequest): boolean {
  return usedTokens(activation, request) > request.contextTokens - replyReserve(request.contextTokens)
}

/** What the server counted last, and an estimate of what has come since; all estimated before the first reply. */
function usedTokens({ task, registry }: Activation, request: ModelRequest): number {
  const { state } = task
  const estimate = estimateTokens(request)
  if (!state.measured) return estimate
  const since = { ...state, history: state.history.slice(state.measured.items) }
  const added = estimateTokens({
    system: '',
    messages: buildMessages(since, registry.nameOf),
    tools: [],
    board: request.board,
  })
  return Math.max(estimate, state.measured.tokens + added)
}

/** Replaces the older history by a summary, in one record; false when there is nothing to gain. */
export async function compactHistory(activation: Activation, model: Model): Promise<boolean> {
  const { contextTokens } = model.profile
  const room = contextTokens - replyReserve(contextTokens)
  const plan = planCompaction(activation.task.state, { keepTokens: room / 4, maxChars: (room / 2) * charsPerToken })
  if (!plan) return false
  const words = await sumUp(activation, model, plan.transcript)
  const summary = summaryText(activation.task.state, words)
  await activation.append([{ type: 'history.compacted', uptoSeq: plan.uptoSeq, summary }])
  return true
}

/** The model's summary; what was said last, where it cannot give one. */
async function sumUp(activation: Activation, model: Model, transcript: string): Promise<string> {
  const { link, task, seed, emit } = activation
  const request: ModelRequest = {
    system: compactionPrompt.system,
    messages: [{ role: 'user', text: `${transcript}\n\n${compactionPrompt.ask}` }],
    tools: [],
    facts: {
      agent: seed.agent.name,
      depth: seed.depth,
      session: task.session,
      turn: task.state.turn,
      attempt: 1,
      purpose: 'compaction',
    },
    contextTokens: model.profile.contextTokens,
  }
  const build = (attempt: number): ModelRequest => ({ ...request, facts: { ...request.facts, attempt } })
  try {
    const { text } = await askModel({
      model,
      build,
      gate: gateOf(serverOf(task.model)),
      emit,
      onDelta: () => undefined,
      signal: link.signal,
    })
    return text
  } catch (thrown) {
    link.signal.throwIfAborted()
    if (!(thrown instanceof RuntimeError)) throw thrown
    return plainSummary(task.state)
  }
}
