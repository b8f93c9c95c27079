import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isAbort, messageOf, RuntimeError } from '../core/errors.ts'
import type { SandboxLeave } from '../core/messages.ts'
import type { AskKind, JudgedUnit, PermissionRequest, Rule } from '../core/permission.ts'
import type { CallResult, RecordedCall } from '../core/records.ts'
import type { OpenAsk } from '../core/state.ts'
import type { Decision } from '../permissions/decide.ts'
import { loadShellParser } from '../permissions/shell/load-shell-parser.ts'
import { assertApproved, hashOfArgs } from './approved.ts'
import type { Tool, ToolContext, ToolOutput } from './define-tool.ts'
import { explained } from './explained.ts'
import { keepImage } from './kept-images.ts'
import { parseInput } from './parse-input.ts'
import type { ToolRegistry } from './registry.ts'
import { repairNewlines } from './repair-newlines.ts'
import { shorten } from './shorten.ts'
import { type ToolsetProfile, toolsets } from './toolsets.ts'
import { isInside } from './workspace.ts'

export type ToolAsk = {
  kind: AskKind
  title: string
  detail: string
  key: string
  pattern: string
  grant?: Rule
  basis?: string
  reason?: string
  units?: JudgedUnit[]
  argsHash: string
}

export type ToolOutcome =
  | { type: 'finished'; result: CallResult }
  | { type: 'ask'; ask: ToolAsk }
  /** The supervisor answers the call later: a foreground task. */
  | { type: 'waiting' }

export type RunToolRequest = {
  call: RecordedCall
  registry: ToolRegistry
  /** Its `signal` cancels the call. */
  context: ToolContext
  decide(request: PermissionRequest): Decision
  /** An earlier ask of this very call. Without an answer it is asked again. */
  answered?: OpenAsk
  /** Called before a `write` call acts; its failure is not the tool's and rejects `runTool`. */
  onStart(): Promise<void>
  /** Folder for output that is too long to show. */
  outputDir: string
}

/**
 * Runs one call: find the tool, parse, permission, run, shorten. Whatever the tool throws becomes a result; rejects only
 * when `onStart` does or this activation was fenced off.
 */
export async function runTool(request: RunToolRequest): Promise<ToolOutcome> {
  const { call, registry } = request
  const toolset = toolsets[registry.toolset]
  const profile = { ...toolset, maxChars: request.context.maxChars ?? toolset.maxChars }
  const tool = registry.find(call.tool)
  if (!tool) return notThere(request)
  if (call.invalid !== undefined) return finished(failed(invalidJson(call.invalid, tool, registry)))
  const { args, repaired } = profile.repairNewlines ? repairNewlines(call.args) : { args: call.args, repaired: [] }
  const parsed = parseInput(tool.input, args)
  if (!parsed.ok) return finished(failed(invalidParameters(parsed.problems, tool, registry)))
  if (repaired.length === 0) return guarded({ request, tool, input: parsed.input, profile, started: false })
  const note = `[note: literal \\n in ${repaired.join(' and ')} was taken as line breaks]\n`
  const maxChars = profile.maxChars - note.length
  const limited = { ...request, context: { ...request.context, maxChars } }
  const limits = { ...profile, maxChars }
  return noted(note, await guarded({ request: limited, tool, input: parsed.input, profile: limits, started: false }))
}

/** Above the output: below it, a command's exit code is the last line. */
function noted(note: string, outcome: ToolOutcome): ToolOutcome {
  if (outcome.type !== 'finished') return outcome
  return finished({ ...outcome.result, output: note + outcome.result.output })
}

/** A tool that was taken for want of trust is asked for, so that people see it; nobody can say yes in such a run. */
function notThere({ call, registry, answered }: RunToolRequest): ToolOutcome {
  const withheld = registry.withheld(call.tool)
  if (withheld === undefined) return finished(failed(unknownTool(call.tool, registry)))
  const output = answered?.answer?.text ?? `${call.tool} was not run: the folder of this agent is not trusted.`
  if (answered?.answer) return finished({ output, isError: true, how: 'denied' })
  const title = `${withheld}: the folder of this agent is not trusted`
  const detail = JSON.stringify(call.args, null, 2)
  const ask = { kind: 'other', title, detail, key: 'trust', pattern: withheld } as const
  return { type: 'ask', ask: { ...ask, argsHash: hashOfArgs(call.args) } }
}

/** A parsed call on its way; `started` once it may have acted. */
type Attempt = { request: RunToolRequest; tool: Tool; input: unknown; profile: ToolsetProfile; started: boolean }

/** What `onStart` threw, so that nobody takes it for the tool's failure. */
class StartFailed {
  readonly reason: unknown
  constructor(reason: unknown) {
    this.reason = reason
  }
}

async function guarded(attempt: Attempt): Promise<ToolOutcome> {
  try {
    attempt.request.context.signal.throwIfAborted()
    return await permitAndRun(attempt)
  } catch (thrown) {
    if (thrown instanceof StartFailed) throw thrown.reason
    if (thrown instanceof RuntimeError && thrown.code === 'fenced') throw thrown
    return finished(resultOfThrown(thrown, attempt))
  }
}

async function permitAndRun(attempt: Attempt): Promise<ToolOutcome> {
  const { request, tool, input } = attempt
  const wanted = await tool.permission(input, request.context)
  if (!wanted) return act(attempt, {})
  if (wanted.key === 'bash') await loadShellParser()
  const answer = request.answered?.answer
  if (request.answered && answer) {
    if (answer.decision === 'reject') return finished(rejected(attempt, answer.text, request.answered.by))
    assertApproved(request.answered, { call: request.call, wanted, key: askedKey(request, wanted) })
    const leave = wanted.key === 'bash' ? decideOn(request, wanted).leave : undefined
    return act(attempt, { approved: { basis: request.answered.basis }, leave })
  }
  const decision = decideOn(request, wanted)
  if (decision.action === 'deny') return finished(denied(attempt, decision.reason))
  if (decision.action === 'ask') return { type: 'ask', ask: await askOf(attempt, wanted, decision) }
  return act(attempt, { leave: decision.leave })
}

/** A write against a claim asks under a key of its own, which no "always" for edits answers. */
function askedKey(request: RunToolRequest, { key, pattern, claim }: PermissionRequest): string {
  return claim !== undefined && request.decide({ key: 'claim', pattern }).action !== 'allow' ? 'claim' : key
}

function decideOn(request: RunToolRequest, wanted: PermissionRequest): Decision {
  if (isOwnFile(request, wanted)) return { action: 'allow', reason: 'The runtime made or listed this file.' }
  return request.decide(wanted)
}

/** Spilled output and the files of usable skills lie outside the workspace, and the runtime itself pointed to them. */
function isOwnFile({ context, outputDir, decide }: RunToolRequest, { key, outside }: PermissionRequest): boolean {
  if (key !== 'read' || outside === undefined) return false
  if (isInside(realOrSame(outputDir), outside)) return true
  const skill = context.skills.find(({ path }) => isInside(realOrSame(dirname(path)), outside))
  return skill !== undefined && decide({ key: 'skill', pattern: skill.name }).action === 'allow'
}

function realOrSame(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path // Not made yet: then nothing lies in it.
  }
}

async function askOf(
  { request, tool, input }: Attempt,
  wanted: PermissionRequest,
  { grant, reason, units }: Decision,
): Promise<ToolAsk> {
  const { pattern } = wanted
  const key = askedKey(request, wanted)
  const prepared = await tool.prepare?.(input, contextFor(request, {}))
  const kind = key === 'bash' ? 'shell' : key === 'edit' ? 'edit' : 'other'
  const argsHash = hashOfArgs(request.call.args)
  const judged = { grant, reason, argsHash, ...(units && units.length > 1 && { units }) }
  const ask = { kind, title: `${tool.name} ${pattern}`, detail: pattern, ...prepared, key, pattern, ...judged } as const
  return key === 'claim' ? { ...ask, title: `${ask.title}: ${wanted.claim}` } : ask
}

/** `approved`: what a person said yes to; `leave`: how much wider the sandbox is for a command. */
type Permit = { approved?: { basis?: string }; leave?: SandboxLeave | undefined }

async function act(attempt: Attempt, permit: Permit): Promise<ToolOutcome> {
  const { request, tool, input } = attempt
  if (tool.effect === 'write') {
    await request.onStart().catch((reason: unknown) => {
      throw new StartFailed(reason)
    })
  }
  attempt.started = true
  const output = await tool.run(input, contextFor(request, permit), permit.approved)
  if (output === 'waiting') return { type: 'waiting' }
  return finished(await resultOf(output, attempt))
}

/** A person who approved a search approved what it shows, but for what the rules deny. */
function contextFor(request: RunToolRequest, { approved, leave }: Permit): ToolContext {
  const judge = (wanted: PermissionRequest) => decideOn(request, wanted).action
  const mayRead = (wanted: PermissionRequest) => {
    const action = judge(wanted)
    return action === 'allow' || (action === 'ask' && approved !== undefined)
  }
  return { ...request.context, judge, mayRead, ...(leave && { leave }) }
}

async function resultOf(output: ToolOutput, { request, tool, profile }: Attempt): Promise<CallResult> {
  const spillPath = join(request.outputDir, `${request.call.id}.txt`)
  const { text, spilled } = await shorten({ output, keep: tool.keep, profile, spillPath })
  const isError = output.isError ?? false
  const { title, metadata, touched, todos } = output
  const images = output.images?.map((image) => keepImage(request.outputDir, image))
  const rest = { title, metadata, touched, todos, spilled, ...(images && { images }) }
  return { output: text, isError, how: isError ? 'error' : 'ok', ...rest }
}

function resultOfThrown(thrown: unknown, { request, tool, started }: Attempt): CallResult {
  const { signal } = request.context
  if (signal.aborted && (isAbort(thrown) || thrown === signal.reason)) return cancelled(tool, started)
  if (thrown instanceof RuntimeError && thrown.code === explained) {
    return { output: thrown.message, isError: false, how: 'ok' }
  }
  if (thrown instanceof RuntimeError) return { ...failed(thrown.message), metadata: { code: thrown.code } }
  const output = `The tool ${tool.name} failed by a fault of the runtime: ${messageOf(thrown)}. Try another way.`
  const stack = thrown instanceof Error ? thrown.stack : undefined
  return { ...failed(output), metadata: { code: 'internal', stack } }
}

function cancelled(tool: Tool, started: boolean): CallResult {
  const output = !started
    ? 'The call was cancelled before it started; it was not run.'
    : tool.effect === 'write'
      ? 'The call was interrupted while it ran; its effect is unknown. Check before you repeat it.'
      : 'The call was interrupted while it ran.'
  return { output, isError: true, how: 'cancelled' }
}

function denied({ request, tool }: Attempt, reason: string): CallResult {
  const name = request.registry.nameOf(tool.name)
  const output = `${name} was denied and not run. ${reason} Do not repeat the call: go on with what is allowed, or finish and say what you could not do.`
  return { output, isError: true, how: 'denied', metadata: { reason } }
}

function rejected({ request, tool }: Attempt, words: string | undefined, by: OpenAsk['by']): CallResult {
  // A policy's words are complete: they say that nobody was asked.
  if (by === 'policy' && words) return { output: words, isError: true, how: 'denied' }
  const name = request.registry.nameOf(tool.name)
  const output = words
    ? `${name} was not run. The user rejected it and says: ${words}`
    : `${name} was not run: the user rejected it. Do not repeat the call; do it another way, or ask what is wanted.`
  return { output, isError: true, how: 'denied' }
}

function unknownTool(name: string, registry: ToolRegistry): string {
  if (name === 'sub_agent_result') {
    return 'sub_agent_result is no tool that can be called: the runtime makes these calls when a sub-agent has finished. Go on, or end your turn; results come by themselves.'
  }
  return `unknown tool "${name}". Valid tools: ${registry.names().join(', ') || 'none'}.`
}

function invalidJson(raw: string, tool: Tool, registry: ToolRegistry): string {
  return `invalid JSON arguments; ${registry.nameOf(tool.name)} was not run. They began: ${raw.slice(0, 200)}\n${schemaHint(tool, registry)}`
}

function invalidParameters(problems: string[], tool: Tool, registry: ToolRegistry): string {
  return `invalid parameters; ${registry.nameOf(tool.name)} was not run:\n- ${problems.join('\n- ')}\n${schemaHint(tool, registry)}`
}

function schemaHint(tool: Tool, registry: ToolRegistry): string {
  const spec = registry.specs().find(({ name }) => name === registry.nameOf(tool.name))
  return spec
    ? `Call it again with arguments of this JSON schema:\n${JSON.stringify(spec.parameters)}`
    : 'Call it again.'
}

function failed(output: string): CallResult {
  return { output, isError: true, how: 'error' }
}

function finished(result: CallResult): ToolOutcome {
  return { type: 'finished', result }
}
