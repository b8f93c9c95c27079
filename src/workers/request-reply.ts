import { RuntimeError, toErrorData } from '../core/errors.ts'
import { callId } from '../core/ids.ts'
import type { ActivationEnd } from '../core/messages.ts'
import { type Model, type ModelReply, type ModelRequest, serverOf } from '../core/model.ts'
import type { RecordBody, RecordedCall } from '../core/records.ts'
import { createModel } from '../models/create-model.ts'
import { buildMessages } from '../session/build-messages.ts'
import { askModel } from './ask-model.ts'
import { attachImages } from './attach-images.ts'
import { compactHistory, densityOf, isNearlyFull, refusedDensity } from './compact-history.ts'
import { systemOf } from './context-budget.ts'
import type { Activation } from './run-activation.ts'
import { gateOf } from './server-gate.ts'

/** One turn's request; `undefined` when the reply is recorded. The slot goes back with the record. */
export async function requestReply(activation: Activation, board: string): Promise<ActivationEnd | undefined> {
  const { task, link, append } = activation
  const { turn } = task.state
  const release = task.slot?.server
  const model = createModel(task.model)
  try {
    const reply = withCutWarning(await askWithRoom(activation, model, board))
    for (const message of reply.warnings) activation.emit({ type: 'model.truncated', message })
    await append([assistantRecord(activation, turn, reply)], { release })
    return undefined
  } catch (thrown) {
    link.signal.throwIfAborted()
    const error = toErrorData(thrown)
    if (error.code === 'fenced' || error.code === 'internal') throw thrown
    await append([{ type: 'turn.failed', turn, error }], { release })
    return { outcome: 'failed', error }
  }
}

/** An answer that was cut reads like one that was not. */
function withCutWarning(reply: ModelReply): ModelReply {
  if (reply.finish !== 'length') return reply
  const warning = "the reply was cut at the server's output limit. Raise num_predict, or ask for less at once."
  return { ...reply, warnings: [...reply.warnings, warning] }
}

/** Asks; before the context is full, and when the server says it is, the history is summed up first. */
async function askWithRoom(activation: Activation, model: Model, board: string): Promise<ModelReply> {
  let build = requestBuilder(activation, model, board)
  const request = build(1)
  if (isNearlyFull(activation, request) && (await compactHistory(activation, model, densityOf(activation, request)))) {
    build = requestBuilder(activation, model, board)
  }
  try {
    return await ask(activation, model, build)
  } catch (thrown) {
    if (!(thrown instanceof RuntimeError) || thrown.code !== 'context-too-long') throw thrown
    const refused = build(1)
    const density = refusedDensity(refused, densityOf(activation, refused))
    if (!(await compactHistory(activation, model, density))) throw thrown
    return ask(activation, model, requestBuilder(activation, model, board))
  }
}

type BuildRequest = ReturnType<typeof requestBuilder>

function ask(activation: Activation, model: Model, build: BuildRequest): Promise<ModelReply> {
  const { emit, link, task } = activation
  const { turn } = task.state
  return askModel({
    model,
    build,
    gate: gateOf(serverOf(task.model)),
    emit,
    onDelta: ({ type, text }) => emit({ type: type === 'text' ? 'text.delta' : 'thinking.delta', turn, text }),
    signal: link.signal,
  })
}

function requestBuilder(activation: Activation, model: Model, board: string) {
  const { task, seed, registry } = activation
  const { agent, depth } = seed
  const { vision = false } = model.profile
  const messages = attachImages(buildMessages(task.state, registry.nameOf), { dir: task.outputDir, vision })
  const tools = registry.specs()
  const { contextTokens } = model.profile
  const system = systemOf(activation)
  return (attempt: number, nudge?: string): ModelRequest => ({
    system,
    messages: nudge ? [...messages, { role: 'user', text: nudge }] : messages,
    tools,
    ...(board && { board }),
    facts: {
      agent: agent.name,
      depth,
      session: task.session,
      turn: task.state.turn,
      attempt: attempt + task.attempt - 1,
      purpose: 'turn',
    },
    contextTokens,
    ...(agent.think !== undefined && { think: agent.think }),
    ...(agent.options && { options: agent.options }),
  })
}

function assistantRecord({ registry, task }: Activation, turn: number, reply: ModelReply): RecordBody {
  const { text, thinking, usage, warnings } = reply
  // In the last turn there is nobody to run them for.
  const wanted = task.state.final ? [] : reply.calls
  const calls = wanted.map(({ tool, args, invalid }, index): RecordedCall => {
    const name = registry.find(tool)?.name ?? tool
    return { id: callId(turn, index + 1), tool: name, args, ...(invalid !== undefined && { invalid }) }
  })
  return {
    type: 'assistant.message',
    turn,
    text,
    ...(thinking && { thinking }),
    calls,
    usage,
    ...(warnings.length > 0 && { warnings }),
  }
}
