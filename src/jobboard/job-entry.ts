import type { Usage } from '../core/model.ts'
import type { BoardChange, JobEnd } from './board-change.ts'
import type { JobRow } from './board-state.ts'

type Of<Type extends BoardChange['type']> = Extract<BoardChange, { type: Type }>

/** How a job ended as its parent's journal tells; of a foreground child that is less than its own does. */
type Told = Pick<JobEnd, 'state' | 'text' | 'at'> & Partial<JobEnd>

/**
 * What the journals say of one job, kept apart by journal and generation, so that it does not matter whose journal is read
 * first. `row` is made from it; there is none before the launch is known.
 */
export type JobEntry = {
  launch?: Of<'job.launched'>
  /** The child's own journal: the generation it is in, and how the last one ended. */
  child: { generation: number; turns: number; usage: Usage; end?: { generation: number; end: JobEnd } }
  told?: { generation: number; end: Told }
  live?: Of<'job.changed'>
  movedGeneration: number
  deliveredGeneration: number
  row?: JobRow
}

const noUsage: Usage = { inputTokens: 0, outputTokens: 0 }

export const emptyJob: JobEntry = {
  child: { generation: 1, turns: 0, usage: noUsage },
  movedGeneration: 0,
  deliveredGeneration: 0,
}

/** Each takes a change in; one of an older generation leaves the entry as it is. */
export function launchJob(entry: JobEntry, launch: Of<'job.launched'>): JobEntry {
  if (entry.launch !== undefined && entry.launch.generation > launch.generation) return entry
  return withRow({ ...entry, launch })
}

export function moveJob(entry: JobEntry, generation: number): JobEntry {
  return generation <= entry.movedGeneration ? entry : withRow({ ...entry, movedGeneration: generation })
}

export function changeJob(entry: JobEntry, live: Of<'job.changed'>): JobEntry {
  if (live.generation < Math.max(entry.live?.generation ?? 0, entry.launch?.generation ?? 0)) return entry
  const doing = live.state === 'running' ? (live.doing ?? entry.live?.doing) : undefined
  return withRow({ ...entry, live: { ...live, doing } })
}

export function finishJob(entry: JobEntry, generation: number, end: JobEnd): JobEntry {
  if (generation < entry.child.generation) return entry
  return withRow({
    ...entry,
    child: { generation: generation + 1, turns: 0, usage: noUsage, end: { generation, end } },
  })
}

export function tellEnd(entry: JobEntry, generation: number, end: Told): JobEntry {
  if (entry.told !== undefined && entry.told.generation > generation) return entry
  return withRow({ ...entry, told: { generation, end } })
}

export function deliverJob(entry: JobEntry, generation: number): JobEntry {
  return generation <= entry.deliveredGeneration ? entry : withRow({ ...entry, deliveredGeneration: generation })
}

export function addTurn(entry: JobEntry): JobEntry {
  return withRow({ ...entry, child: { ...entry.child, turns: entry.child.turns + 1 } })
}

export function addUsage(entry: JobEntry, { inputTokens, outputTokens }: Usage): JobEntry {
  const { usage } = entry.child
  const sum = { inputTokens: usage.inputTokens + inputTokens, outputTokens: usage.outputTokens + outputTokens }
  return withRow({ ...entry, child: { ...entry.child, usage: sum } })
}

function withRow(entry: JobEntry): JobEntry {
  return entry.launch === undefined ? entry : { ...entry, row: rowOf(entry, entry.launch) }
}

function rowOf(entry: JobEntry, launch: Of<'job.launched'>): JobRow {
  const { job, root, parent, alias, agent, generation, description, at } = launch
  const { child, live } = entry
  const end = endOf(entry, generation)
  const isCurrent = child.generation === generation
  const counted = isCurrent ? child : { turns: 0, usage: noUsage }
  const isLive = live?.generation === generation
  const row: JobRow = {
    job,
    root,
    parent,
    alias,
    agent,
    generation,
    background: launch.background || entry.movedGeneration >= generation,
    description,
    state: end?.state ?? (isLive ? live.state : counted.turns > 0 ? 'running' : 'queued'),
    delivered: entry.deliveredGeneration >= generation,
    launchedAt: at,
    turns: end?.turns ?? counted.turns,
    usage: end?.usage ?? counted.usage,
  }
  if (end !== undefined) return { ...row, finishedAt: end.at, text: end.text }
  if (launch.claims) row.holds = launch.claims
  return isLive && live.doing !== undefined ? { ...row, doing: live.doing } : row
}

// The child's own word counts before what its parent was told; but for a journal that lost its end, the parent's is all.
function endOf({ child, told }: JobEntry, generation: number): Told | undefined {
  if (child.end?.generation === generation) return child.end.end
  return told?.generation === generation ? told.end : undefined
}
