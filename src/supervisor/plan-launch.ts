import type { AgentDefinition } from '../core/agent.ts'
import { childSessionId, type JobId, type SessionId } from '../core/ids.ts'
import type { LaunchRequest } from '../core/messages.ts'
import type { SessionSeed } from '../core/records.ts'
import { spawnableFor } from '../definitions/spawnable.ts'
import type { Kernel } from './kernel.ts'
import { type ChildEntry, nextAlias, type SessionEntry } from './session-entry.ts'
import type { WorktreePlace } from './worktrees.ts'

/** What a `task` call comes to; `child`: the finished one that it continues. */
export type LaunchPlan = { job: JobId; alias: string; generation: number; seed: SessionSeed; child?: SessionEntry }

const maxChildrenOfTree = 1000

/** Decides what a `task` call comes to, or why it is refused, as a text for the model. Changes nothing. */
export function planLaunch(
  kernel: Kernel,
  entry: SessionEntry,
  request: LaunchRequest,
  place?: WorktreePlace,
): LaunchPlan | { refused: string } {
  const plan =
    request.job === undefined ? planNew(kernel, entry, request, place) : planAgain(kernel, entry, request, request.job)
  if ('refused' in plan || !request.claims) return plan
  const refused = kernel.claims.refusal(entry, { globs: request.claims, dir: plan.seed.dir })
  return refused === undefined ? plan : { refused }
}

function planNew(
  kernel: Kernel,
  entry: SessionEntry,
  request: LaunchRequest,
  place: WorktreePlace | undefined,
): LaunchPlan | { refused: string } {
  const agent = kernel.options.agents.get(request.agent)
  const refused = refusal(kernel, entry, agent, request)
  if (refused !== undefined || !agent) return { refused: refused ?? '' }
  const isUsed = (name: string) => kernel.entries.has(childSessionId(entry.seed.session, name))
  const alias = nextAlias(entry, agent.name, isUsed)
  const { model = entry.seed.model } = kernel.workingAgent(agent)
  const seed = { ...childSeed(entry, agent, { ...request, alias, place }), model }
  return { job: seed.session as string as JobId, alias, generation: 1, seed }
}

/** A finished child with its history: a new generation of the same job. */
function planAgain(
  kernel: Kernel,
  entry: SessionEntry,
  request: LaunchRequest,
  alias: string,
): LaunchPlan | { refused: string } {
  const row = [...entry.jobs.values()].find((job) => job.alias === alias)
  const child = row && kernel.entries.get(row.job as string as SessionId)
  const refused = refusalToContinue(entry, request, { alias, row, child })
  if (refused !== undefined || !row || !child) return { refused: refused ?? '' }
  // After a crash a child may know of a generation that its parent has lost.
  const generation = Math.max(row.generation, child.generation) + 1
  return { job: row.job, alias, generation, seed: child.seed, child }
}

function childSeed(
  parent: SessionEntry,
  agent: AgentDefinition,
  { alias, call, maxTurns, timeoutMs, place }: LaunchRequest & { alias: string; place?: WorktreePlace },
): SessionSeed {
  const { session, root, depth, model, dir } = parent.seed
  const id = childSessionId(session, alias)
  return {
    session: id,
    root,
    parent: { session, job: id as string as JobId, call, alias },
    depth: depth + 1,
    agent,
    model,
    dir,
    limits: { ...agent.limits, ...(maxTurns && { maxTurns }), ...(timeoutMs && { timeoutMs }) },
    ...place,
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
  if (request.isolation === 'worktree' && !child.seed.worktree) {
    return `${alias} works in your folder and stays there. Continue it without isolation, or leave job out to send a new one.`
  }
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
  const total = sizeOfTree(kernel, entry.seed.root) - 1
  if (total >= limit) return `This run has started ${total} sub-agents, its limit. Finish with the results you have.`
  return undefined
}

/** Counted for each launch: without a walk through the tree, which may have a thousand sessions. */
function sizeOfTree({ entries }: Kernel, root: SessionId): number {
  let size = 0
  for (const { seed } of entries.values()) if (seed.root === root) size += 1
  return size
}
