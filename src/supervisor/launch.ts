import type { HandedFile, LaunchReply, LaunchRequest } from '../core/messages.ts'
import type { HandedContext, RecordBody, SessionSeed } from '../core/records.ts'
import { type PlacedContext, placeContext, promptMessage } from '../session/handed-context.ts'
import type { Kernel } from './kernel.ts'
import { modelRef } from './placement.ts'
import { type LaunchPlan, planLaunch } from './plan-launch.ts'
import { type ChildEntry, newEntry, type SessionEntry } from './session-entry.ts'
import type { WorktreePlace } from './worktrees.ts'

/** Where no model's context is known. */
const smallContextTokens = 8192

type LaunchRecord = Extract<RecordBody, { type: 'job.launched' }>

/** Starts children. */
export type Launching = {
  /**
   * Answers a worker's `task` call; the same call again (after a crash) finds the job it had started. `working` gives the
   * session while its activation may begin something, and throws `fenced` from then on: some of it takes time.
   */
  launch(working: () => SessionEntry, request: LaunchRequest): Promise<LaunchReply>
  /** Makes the child's session of a launched job; also after a crash between the two. */
  createChild(parent: SessionEntry, launched: Launched): SessionEntry
  /** A child has ended: the next of its siblings that waited may start. */
  startNext(ended: SessionEntry): void
  /** After a restart: its children's clocks run again, and those that had not begun keep their places in the line. */
  readmit(parent: SessionEntry): void
}

export type Launched = { seed: SessionSeed; prompt: string; context?: HandedContext }

export function createLaunching(kernel: Kernel): Launching {
  async function launch(working: () => SessionEntry, request: LaunchRequest): Promise<LaunchReply> {
    const known = [...working().jobs.values()].find(({ call }) => call === request.call)
    if (known) return answerAgain(working(), known)
    const plan = planLaunch(kernel, working(), request)
    if ('refused' in plan) return { records: [], ...plan }
    const place = await placeFor(working(), request, plan)
    if (place && 'refused' in place) return { records: [], ...place }
    try {
      const { dir } = place ?? plan.seed
      const placed = await contextFor(working(), request, { ...plan, seed: { ...plan.seed, dir } })
      const final = planLaunch(kernel, working(), request, place)
      if ('refused' in final) throw new Refused(final.refused)
      return begin(working(), request, { ...final, ...placed })
    } catch (thrown) {
      if (place) await kernel.worktrees.discard(place)
      if (thrown instanceof Refused) return { records: [], refused: thrown.text }
      throw thrown
    }
  }

  /** A child that asks for isolation gets a folder of its own; one that is continued gets its own back. */
  async function placeFor(
    entry: SessionEntry,
    { isolation }: LaunchRequest,
    { seed, child }: LaunchPlan,
  ): Promise<WorktreePlace | { refused: string } | undefined> {
    if (child) {
      const refused = await kernel.worktrees.reopen(child)
      return refused === undefined ? undefined : { refused }
    }
    const wanted = isolation ?? seed.agent.isolation
    return wanted === 'worktree' ? kernel.worktrees.create(entry, seed.session) : undefined
  }

  async function contextFor(
    entry: SessionEntry,
    { context = [] }: LaunchRequest,
    { seed }: LaunchPlan,
  ): Promise<PlacedContext> {
    if (context.length === 0) return { notes: [] }
    const files = context.map((file) => moved(file, entry.seed.dir, seed.dir))
    return placeContext(files, await contextTokens(entry, seed))
  }

  /** Of the model that the child will have; the parent's where that one cannot be reached now. */
  async function contextTokens(entry: SessionEntry, child: SessionSeed): Promise<number> {
    try {
      return (await kernel.options.readyModel(modelRef(kernel, child))).spec.profile.contextTokens
    } catch {
      return entry.contextTokens ?? smallContextTokens // The child will fail by itself, and say why.
    }
  }

  function begin(entry: SessionEntry, request: LaunchRequest, plan: LaunchPlan & PlacedContext): LaunchReply {
    const { prompt, background, call, description, claims, lastSeq } = request
    const { job, alias, generation, seed, child, context, notes } = plan
    const launched: LaunchRecord = {
      type: 'job.launched',
      job,
      alias,
      generation,
      call,
      background,
      prompt,
      seed,
      ...(description && { description }),
      ...(context && { context }),
      ...(claims && { claims }),
    }
    kernel.record(entry, [launched])
    if (child) goOn(child, launched)
    else kernel.placement.wake(createChild(entry, launched))
    return { records: entry.recent.filter(({ seq }) => seq > lastSeq), alias, notes: [...notes, ...placeNote(seed)] }
  }

  function goOn(child: SessionEntry, launched: Launched): void {
    startClock(child)
    kernel.tell(child, promptMessage(launched))
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
    const limit = limitAtOnce(parent)
    child.held = limit !== undefined && atWork(parent, child) >= limit
    if (child.held) kernel.noteJob(child, 'queued')
    else startClock(child)
  }

  /** How many children a session may have at work; missing: any number. */
  function limitAtOnce(parent: SessionEntry): number | undefined {
    return parent.seed.limits.maxChildren ?? kernel.options.settings.limits.maxChildren
  }

  function atWork(parent: SessionEntry, besides: SessionEntry): number {
    return kernel.childrenOf(parent).filter((one) => one !== besides && one.status !== 'ended' && !one.held).length
  }

  function startClock(child: SessionEntry): void {
    const timeoutMs = child.seed.limits.timeoutMs ?? kernel.options.settings.limits.timeoutMs
    if (timeoutMs) kernel.deadlines.start(child, timeoutMs)
  }

  function startNext(ended: SessionEntry): void {
    const parent = kernel.parentOf(ended)
    if (!parent || limitAtOnce(parent) === undefined) return
    const next = kernel.childrenOf(parent).find(({ held, status }) => held && status !== 'ended')
    if (!next || parent.ending > 0) return
    next.held = false
    startClock(next)
    kernel.placement.wake(next)
  }

  function readmit(parent: SessionEntry): void {
    const children = kernel.childrenOf(parent).filter(({ status }) => status !== 'ended')
    for (const child of children) child.held = child.turn === 0
    for (const child of children) {
      if (child.held) holdOrStart(parent, child)
      else startClock(child)
    }
  }

  return { launch, createChild, startNext, readmit }
}

/** A launch that was possible a moment ago. */
class Refused {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

function placeNote({ worktree }: SessionSeed): string[] {
  if (!worktree) return []
  return [
    `It works in a git worktree of its own, on branch ${worktree.branch}, from the last commit: what is uncommitted in your folder is not in it.`,
  ]
}

/** In a worktree the child knows the file under its own folder; where that has another content, its edit is refused as stale. */
function moved(file: HandedFile, from: string, to: string): HandedFile {
  return file.path.startsWith(`${from}/`) ? { ...file, path: to + file.path.slice(from.length) } : file
}
