import { RuntimeError } from '../../core/errors.ts'
import type { ModelRequest, Usage } from '../../core/model.ts'
import { estimateTokens, textTokens } from '../estimate-tokens.ts'
import { offeredName } from '../tool-names.ts'
import { describeFacts, factsOf, type ScriptFacts } from './facts.ts'
import { findRule, type RuleMatch } from './match-rule.ts'
import type { Script, ScriptFault } from './script-schema.ts'
import { fillTemplate, fillTemplates } from './template.ts'

/** A call as it goes over the wire: a string is broken JSON on purpose. */
export type ScriptedCall = { tool: string; args: Record<string, unknown> | string }

/** What a script says to one request. `delayMs` comes before everything, `chunkMs` before each chunk. */
export type Answer = {
  text: string
  thinking: string
  calls: ScriptedCall[]
  usage: Usage
  finish: 'stop' | 'length'
  delayMs: number
  chunkMs: number
  fault?: ScriptFault
}

const fixedSummary = 'Summary of the conversation so far: the work goes on as it was agreed.'

/** Throws `script-unmatched`, with the request's facts, if no rule fits. */
export function answerRequest(script: Script, request: ModelRequest): Answer {
  const facts = factsOf(request)
  const found = findRule(script, facts)
  if (found) return fillReply(found, facts, request)
  if (facts.purpose === 'compaction') return plainAnswer(fixedSummary, request)
  throw new RuntimeError(
    'script-unmatched',
    `No rule of ${script.path} matches this request (${describeFacts(facts)}). Add a rule, or "- when: {}" as the last one.`,
  )
}

function fillReply({ rule: { reply }, groups }: RuleMatch, facts: ScriptFacts, request: ModelRequest): Answer {
  const source = { facts, groups }
  const calls = reply.calls.map(({ tool, args }) => ({
    tool: offeredName(tool, facts.tools),
    args: fillTemplates(args, source) as ScriptedCall['args'],
  }))
  const answer = plainAnswer(fillTemplate(reply.text, source), request)
  return {
    ...answer,
    thinking: fillTemplate(reply.thinking, source),
    calls,
    usage: {
      inputTokens: reply.usage?.inputTokens ?? answer.usage.inputTokens,
      outputTokens: reply.usage?.outputTokens ?? answer.usage.outputTokens + callTokens(calls),
    },
    finish: reply.finish,
    delayMs: reply.delayMs,
    chunkMs: reply.chunkMs,
    fault: reply.fault,
  }
}

export function callTokens(calls: readonly ScriptedCall[]): number {
  let tokens = 0
  for (const { tool, args } of calls) tokens += textTokens(tool + JSON.stringify(args))
  return tokens
}

function plainAnswer(text: string, request: ModelRequest): Answer {
  const usage = { inputTokens: estimateTokens(request), outputTokens: textTokens(text) }
  return { text, thinking: '', calls: [], usage, finish: 'stop', delayMs: 0, chunkMs: 0 }
}
