import type { AgentDefinition } from '../core/agent.ts'
import { childSessionId, type JobId, type SessionId } from '../core/ids.ts'
import type { LaunchReply, LaunchRequest } from '../core/messages.ts'
import type { HandedContext, RecordBody, SessionSeed } from '../core/records.ts'
import { spawnableFor } from '../definitions/spawnable.ts'
import { type PlacedContext, placeContext, promptMessage } from '../session/handed-context.ts'
import type { Kernel } from './kernel.ts'
import { modelRef } from './placement.ts'
import { type ChildEntry, newEntry, nextAlias, type SessionEntry } from './session-entry.ts'

const maxChildrenOfTree = 1000
/** Where no model's context is known. */
const smallContextTokens = 8192

type LaunchRecord = Extract<RecordBody, { type: 'job.launched' }>

/** Starts children. */
export type Launching = {
  /** Answers a worker's `task` call; the same call again (after a crash) finds the job it had started. */
  launch(entry: SessionEntry, request: LaunchRequest, prepared: PreparedLaunch): LaunchReply
  /** What a launch needs that takes time, before anything is recorded. Rejects never. */
  prepare(entry: SessionEntry, request: LaunchRequest): Promise<PreparedLaunch>
  /** Makes the child's session of a launched job; also after a crash between the two. */
  createChild(parent: SessionEntry, launched: Launched): SessionEntry
  /** A child has ended: the next of its siblings that waited may start. */
  startNext(ended: SessionEntry): void
}

export type Launched = { seed: SessionSeed; prompt: string; context?: HandedContext }

export type PreparedLaunch = PlacedContext

export function createLaunching(kernel: Kernel): Launching {
  async function prepare(entry: SessionEntry, { agent, job, context = [] }: LaunchRequest): Promise<PreparedLaunch> {
    if (context.length === 0) return { notes: [] }
    const known = [...entry.jobs.values()].find(({ alias }) => alias === job)
    const seed = known && kernel.entries.get(known.job as string as SessionId)?.seed
    const definition = seed?.agent ?? kernel.options.agents.get(agent)
    const model = definition?.model ?? entry.seed.model
    return placeContext(context, await contextTokens(entry, { agent: definition ?? entry.seed.agent, model }))
  }

  /** Of the model that the child will have; the parent's where that one cannot be reached now. */
  async function contextTokens(entry: SessionEntry, child: Pick<SessionSeed, 'agent' | 'model'>): Promise<number> {
    const ref = modelRef(kernel, { ...child, parent: entry.seed.session })
    try {
      return (await kernel.options.readyModel(ref)).spec.profile.contextTokens
    } catch {
      return entry.contextTokens ?? smallContextTokens // The child will fail by itself, and say why.
    }
  }

  function launch(entry: SessionEntry, request: LaunchRequest, prepared: PreparedLaunch): LaunchReply {
    const known = [...entry.jobs.values()].find(({ call }) => call === request.call)
    if (known) return answerAgain(entry, known)
    if (request.job !== undefined) return goOn(entry, request, { alias: request.job, ...prepared })
    const agent = kernel.options.agents.get(request.agent)
    const refused = refusal(kernel, entry, agent, request)
    if (refused !== undefined || !agent) return { records: [], refused: refused ?? '' }
    const isUsed = (name: string) => kernel.entries.has(childSessionId(entry.seed.session, name))
    const alias = nextAlias(entry, agent.name, isUsed)
    const seed = childSeed(entry, agent, { ...request, alias })
    const { prompt, background, call, description, claims } = request
    const taken = claims && kernel.claims.refusal(entry, { globs: claims, dir: seed.dir })
    if (taken !== undefined) return { records: [], refused: taken }
    const job = seed.session as string as JobId
    const { context, notes } = prepared
    const launched: LaunchRecord = {
      type: 'job.launched',
      job,
      alias,
      generation: 1,
      call,
      background,
      prompt,
      seed,
      ...(description && { description }),
      ...(context && { context }),
      ...(claims && { claims }),
    }
    const records = kernel.record(entry, [launched])
    kernel.placement.wake(createChild(entry, launched))
    return { records: records.length > 0 ? entry.recent.filter(({ seq }) => seq > request.lastSeq) : [], alias, notes }
  }

  /** Continues a finished child with its history: a new generation of the same job. */
  function goOn(
    entry: SessionEntry,
    request: LaunchRequest,
    { alias, context, notes }: PreparedLaunch & { alias: string },
  ): LaunchReply {
    const row = [...entry.jobs.values()].find((job) => job.alias === alias)
    const child = row && kernel.entries.get(row.job as string as SessionId)
    const refused = refusalToContinue(entry, request, { alias, row, child })
    if (refused !== undefined || !row || !child) return { records: [], refused: refused ?? '' }
    const { prompt, background, call, description, claims, lastSeq } = request
    const taken = claims && kernel.claims.refusal(entry, { globs: claims, dir: child.seed.dir })
    if (taken !== undefined) return { records: [], refused: taken }
    // After a crash a child may know of a generation that its parent has lost.
    const generation = Math.max(row.generation, child.generation) + 1
    const { seed } = child
    kernel.record(entry, [
      {
        type: 'job.launched',
        job: row.job,
        alias,
        generation,
        call,
        background,
        prompt,
        seed,
        ...(description && { description }),
        ...(context && { context }),
        ...(claims && { claims }),
      },
    ])
    startClock(child)
    kernel.tell(child, promptMessage({ prompt, context }))
    return { records: entry.recent.filter(({ seq }) => seq > lastSeq), alias, notes }
  }

  function answerAgain(entry: SessionEntry, { alias }: ChildEntry): LaunchReply {
    return { records: [...entry.recent], alias }
  }

  function createChild(parent: SessionEntry, launched: Launched): SessionEntry {
    const { seed } = launched
    const child = newEntry(seed)
    kernel.entries.set(seed.session, child)
    child.fresh = kernel.record(child, [
      { type: 'session.created', version: 1, seed: { ...seed, root: parent.seed.root } },
      { type: 'message.received', message: promptMessage(launched) },
    ])
    holdOrStart(parent, child)
    return child
  }

  /** Past the limit of children at once a child waits until one of them ends. */
  function holdOrStart(parent: SessionEntry, child: SessionEntry): void {
    const limit = parent.seed.limits.maxChildren ?? kernel.options.settings.limits.maxChildren
    const atWork = kernel.childrenOf(parent).filter((one) => one !== child && one.status !== 'ended' && !one.held)
    child.held = limit !== undefined && atWork.length >= limit
    if (child.held) kernel.noteJob(child, 'queued')
    else startClock(child)
  }

  function startClock(child: SessionEntry): void {
    const timeoutMs = child.seed.limits.timeoutMs ?? kernel.options.settings.limits.timeoutMs
    if (timeoutMs) kernel.deadlines.start(child, timeoutMs)
  }

  function startNext(ended: SessionEntry): void {
    const parent = kernel.parentOf(ended)
    const next = parent && kernel.childrenOf(parent).find(({ held, status }) => held && status !== 'ended')
    if (!next || parent.stopping) return
    next.held = false
    startClock(next)
    kernel.placement.wake(next)
  }

  return { launch, prepare, createChild, startNext }
}

function childSeed(
  parent: SessionEntry,
  agent: AgentDefinition,
  { alias, call, maxTurns, timeoutMs }: LaunchRequest & { alias: string },
): SessionSeed {
  const { session, root, depth, model, dir } = parent.seed
  const id = childSessionId(session, alias)
  return {
    session: id,
    root,
    parent: { session, job: id as string as JobId, call, alias },
    depth: depth + 1,
    agent,
    model: agent.model ?? model,
    dir,
    limits: { ...agent.limits, ...(maxTurns && { maxTurns }), ...(timeoutMs && { timeoutMs }) },
  }
}

function refusalToContinue(
  entry: SessionEntry,
  request: LaunchRequest,
  { alias, row, child }: { alias: string; row?: ChildEntry; child?: SessionEntry },
): string | undefined {
  if (!row || !child) {
    const known = [...entry.jobs.values()].map((job) => job.alias).join(', ')
    return `You have no job "${alias}" to continue. Yours: ${known || 'none yet'}.`
  }
  if (request.agent !== row.agent) {
    return `${alias} is a job of ${row.agent}, not of ${request.agent}. Name agent "${row.agent}", or leave job out to send a new ${request.agent}.`
  }
  if (child.status !== 'ended')
    return `${alias} is still at work. Tell it something with task_send, or wait for its result.`
  if (!row.delivered) return `The result of ${alias} comes with your next step; continue it after you have read it.`
  return undefined
}

/** Why a launch is refused, as a text for the model; `undefined` if nothing speaks against it. */
function refusal(
  kernel: Kernel,
  entry: SessionEntry,
  agent: AgentDefinition | undefined,
  request: LaunchRequest,
): string | undefined {
  const { settings, agents } = kernel.options
  const possible = spawnableFor(entry.seed.agent, [...agents.values()]).map(({ name }) => name)
  if (!agent || !possible.includes(agent.name)) {
    return `There is no sub-agent "${request.agent}" for you. You may send: ${possible.join(', ')}.`
  }
  const bounds = [settings.maxDepth, settings.limits.maxDepth, entry.seed.limits.maxDepth]
  const maxDepth = Math.min(...bounds.filter((bound) => bound !== undefined))
  if (entry.seed.depth >= maxDepth) {
    return `Sub-agents may not be nested deeper than ${maxDepth}. Do this part of the work yourself.`
  }
  const ofRoot = kernel.entry(entry.seed.root).seed.limits.maxChildrenTotal
  const limit = settings.budget.maxChildren ?? ofRoot ?? settings.limits.maxChildrenTotal ?? maxChildrenOfTree
  const total = kernel.treeOf(kernel.entry(entry.seed.root as SessionId)).length - 1
  if (total >= limit) return `This run has started ${total} sub-agents, its limit. Finish with the results you have.`
  return undefined
}
