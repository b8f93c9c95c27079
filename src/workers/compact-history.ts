import { RuntimeError } from '../core/errors.ts'
import { type Model, type ModelRequest, serverOf } from '../core/model.ts'
import { estimateTokens } from '../models/estimate-tokens.ts'
import { buildMessages } from '../session/build-messages.ts'
import { compactionPrompt, plainSummary, planCompaction, summaryText } from '../session/compaction.ts'
import { askModel } from './ask-model.ts'
import { budgetOf } from './context-budget.ts'
import type { Activation } from './run-activation.ts'
import { gateOf } from './server-gate.ts'

const charsPerToken = 4

/** True when this request leaves too little of the context for its reply. */
export function isNearlyFull(activation: Activation, request: ModelRequest): boolean {
  return usedTokens(activation, request) > request.contextTokens - budgetOf(activation).reply
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

/** Tokens of the server for one of the estimate, at least 1: code and other scripts than ours take more. */
export function densityOf(activation: Activation, request: ModelRequest): number {
  return Math.max(1, usedTokens(activation, request) / Math.max(1, estimateTokens(request)))
}

/** The same for a request that the server has refused as too long. */
export function refusedDensity(request: ModelRequest, density: number): number {
  return 1.1 * Math.max(density, request.contextTokens / Math.max(1, estimateTokens(request)))
}

/** Replaces the older history by a summary, in one record; false when there is nothing to gain. */
export async function compactHistory(activation: Activation, model: Model, density: number): Promise<boolean> {
  const { state } = activation.task
  const { contextTokens } = model.profile
  const { reply, summary, fresh } = budgetOf(activation)
  const room = (contextTokens - reply) / density
  const plan = planCompaction(state, {
    keepTokens: Math.min(room / 4, fresh / density),
    freshTokens: fresh / density,
    maxChars: (room / 2) * charsPerToken,
  })
  if (!plan) return false
  const maxChars = (summary / density) * charsPerToken
  const words = (await sumUp(activation, model, plan.transcript)) ?? plainSummary(plan, maxChars)
  await activation.append([
    { type: 'history.compacted', uptoSeq: plan.uptoSeq, summary: summaryText(state, words, maxChars) },
  ])
  return true
}

/** The model's summary; `undefined` where it cannot give one. */
async function sumUp(activation: Activation, model: Model, transcript: string): Promise<string | undefined> {
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
    return text.trim() === '' ? undefined : text
  } catch (thrown) {
    link.signal.throwIfAborted()
    if (!(thrown instanceof RuntimeError)) throw thrown
    return undefined
  }
}
