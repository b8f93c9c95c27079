import { isDeepStrictEqual } from 'node:util'
import { roomForBoard } from '../core/context-room.ts'
import { RuntimeError } from '../core/errors.ts'
import type { SessionId } from '../core/ids.ts'
import type { Fence, ModelSlot, SupervisorApi } from '../core/messages.ts'
import type { JournalRecord, RecordBody } from '../core/records.ts'
import { fittingMessages } from '../session/fitting-messages.ts'
import { transcriptText } from '../session/transcript.ts'
import { controlApi } from './control.ts'
import type { Kernel } from './kernel.ts'
import { openJobs, type SessionEntry } from './session-entry.ts'
import { syncedWithLaunches } from './sync-launches.ts'
import { exhaustedBudget } from './usage.ts'

/** What workers may ask of the main thread. Every call is fenced by its epoch. */
export function createSupervisorApi(kernel: Kernel): SupervisorApi {
  /** The session at work under this epoch; drains the live events that its worker sent before this call. */
  function fenced({ session, epoch }: Fence): SessionEntry {
    const entry = kernel.entry(session)
    if (entry.epoch !== epoch || entry.status !== 'active') {
      throw new RuntimeError('fenced', `Activation ${epoch} of ${session} is over.`)
    }
    if (entry.worker) kernel.host.drain(entry.worker)
    return entry
  }

  /** The same for what begins something new: a session that is being stopped begins nothing. */
  function working(fence: Fence): SessionEntry {
    const entry = fenced(fence)
    if (entry.stopping === 0) return entry
    throw stopped(fence)
  }

  function newer(entry: SessionEntry, lastSeq: number): JournalRecord[] {
    if (entry.recent.length > 0) entry.recent = entry.recent.filter(({ seq }) => seq > lastSeq)
    return entry.recent
  }

  function ownerOf(entry: SessionEntry) {
    return { session: entry.seed.session, root: entry.seed.root, epoch: entry.epoch }
  }

  /** The session's clocks stand still while it waits. */
  async function acquireSlot(entry: SessionEntry, { server, limit }: ModelSlot): Promise<void> {
    const row = entry.seed.parent && kernel.parentOf(entry)?.jobs.get(entry.seed.parent.job)
    kernel.deadlines.pause(entry)
    kernel.stalls.waiting(entry, true)
    try {
      await kernel.slots.acquire(server, limit, ownerOf(entry), row?.background ? 'background' : 'foreground')
    } finally {
      kernel.stalls.waiting(entry, false)
      kernel.deadlines.resume(entry)
    }
  }

  return {
    async append({ records, lastSeq, sync, board, slot, release, resultRoom, turnRoom, found = [], ...fence }) {
      const entry = fenced(fence)
      for (const body of records) assertFromWorker(entry, body)
      entry.turnRoom = turnRoom ?? entry.turnRoom
      newer(entry, lastSeq)
      if (records.some(({ type }) => type === 'turn.failed')) kernel.partials.flush(fence.session)
      const bodies = withoutNewTurn(entry, records).map((body) => withAllWaiting(entry, body, resultRoom))
      const own = kernel.record(entry, bodies)
      for (const record of own) react(kernel, entry, record)
      if (bodies.length < records.length) throw stopped(fence)
      if (release !== undefined) kernel.slots.release(release, ownerOf(entry), records.some(goesOnAtOnce))
      if (sync) await syncedWithLaunches(kernel, entry)
      if (slot) await acquireSlot(entry, slot)
      if (sync || slot) fenced(fence)
      for (const file of found) kernel.foundFile(entry, file)
      const text = board ? boardText(kernel, entry) : undefined
      const known = new Set(own.filter((_, n) => bodies[n] === records[n]))
      const first = own[0]
      const exhausted = exhaustedBudget(kernel, kernel.entry(entry.seed.root))
      return {
        records: newer(entry, lastSeq).filter((record) => !known.has(record)),
        ...(first && { own: { from: first.seq, at: first.at } }),
        ...(text !== undefined && { board: text }),
        ...(exhausted && { exhausted }),
      }
    },

    async suspend({ lastSeq, why, text, waitingFor, ...fence }) {
      const entry = fenced(fence)
      const records = newer(entry, lastSeq)
      if (records.length > 0) return { accepted: false, records }
      kernel.placement.deactivate(entry, why === 'idle' ? 'idle' : 'suspended')
      if (why === 'waiting' || openJobs(entry).length > 0) kernel.noteJob(entry, 'waiting')
      if (why === 'waiting') {
        kernel.emit(entry, { type: 'session.suspended', waitingFor })
        return { accepted: true }
      }
      entry.text = text
      kernel.emit(entry, { type: 'session.idle' })
      queueMicrotask(() => kernel.finishing.settle(entry))
      return { accepted: true }
    },

    async launch(request) {
      return kernel.launching.launch(() => working(request), request)
    },

    ...controlApi(kernel, working),

    async transcript({ alias, ...fence }) {
      const entry = fenced(fence)
      const child = [...entry.jobs.values()].find((job) => job.alias === alias)
      const known = [...entry.jobs.values()].map((job) => job.alias).join(', ')
      if (!child) return { refused: `You have no sub-agent "${alias}". Yours: ${known || 'none yet'}.` }
      const session = child.job as string as SessionId
      return { text: transcriptText(kernel.store.read({ root: entry.seed.root, session })) }
    },

    async filesOfChild({ alias, ...fence }) {
      const entry = fenced(fence)
      const child = [...entry.jobs.values()].find((job) => job.alias === alias)
      const known = [...entry.jobs.values()].map((job) => job.alias).join(', ')
      if (!child) return { refused: `You have no sub-agent "${alias}". Yours: ${known || 'none yet'}.` }
      return { paths: kernel.board.filesOf(child.job as string as SessionId).toReversed() }
    },

    async claimAgainst({ path, ...fence }) {
      return kernel.claims.against(fenced(fence), path)
    },

    async lock({ path, ...fence }) {
      await kernel.locks.acquire(path, ownerOf(fenced(fence)))
    },
    async unlock({ path, ...fence }) {
      kernel.locks.release(path, ownerOf(fenced(fence)))
    },
    async runProcess(request) {
      const { dir } = fenced(request).seed
      const { cwd, leave } = request
      const { sandbox } = kernel.options
      return kernel.processes.run(request, sandbox && (() => sandbox.enter({ dir, cwd, ...(leave && { leave }) })))
    },
    async killProcess({ call, ...fence }) {
      await kernel.processes.kill(fence.session, call)
    },
  }
}

const ofWorkers: ReadonlySet<RecordBody['type']> = new Set([
  'turn.started',
  'turn.partial',
  'assistant.message',
  'turn.failed',
  'call.started',
  'call.finished',
  'ask.requested',
  'history.compacted',
] as const)

/** Answers, grants and launches are the main thread's alone: a worker can ask, for its own session, and never answer. */
function assertFromWorker({ seed }: SessionEntry, body: RecordBody): void {
  const isForeign = body.type === 'ask.requested' && !body.id.startsWith(`${seed.session}/${body.call}#`)
  if (ofWorkers.has(body.type) && !isForeign) return
  throw new RuntimeError('internal', `A worker of ${seed.session} may not write ${body.type}.`)
}

/** A boundary takes every message that is there and fits, also what its worker has not heard of yet. */
function withAllWaiting({ waiting }: SessionEntry, body: RecordBody, room: number | undefined): RecordBody {
  if (body.type !== 'turn.started' || body.consumed.length === waiting.size) return body
  const mailbox = [...waiting].map(([seq, message]) => ({ seq, message }))
  const consumed = fittingMessages(mailbox, room)
  return isDeepStrictEqual(consumed, body.consumed) ? body : { ...body, consumed }
}

function boardText({ board }: Kernel, { seed, contextTokens }: SessionEntry): string {
  return board.textFor(seed.session, seed.dir, contextTokens && roomForBoard(contextTokens))
}

/** A session that is being stopped still tells what it has done; it begins no turn any more. */
function withoutNewTurn({ stopping }: SessionEntry, records: RecordBody[]): RecordBody[] {
  const begins = stopping > 0 ? records.findIndex(({ type }) => type === 'turn.started') : -1
  return begins < 0 ? records : records.slice(0, begins)
}

function stopped({ session }: Fence): RuntimeError {
  return new RuntimeError('fenced', `${session} is being stopped.`)
}

/** A reply whose calls will soon be answered here: the session's next request follows. */
function goesOnAtOnce(record: RecordBody): boolean {
  if (record.type !== 'assistant.message' || record.calls.length === 0) return false
  return record.calls.every(({ tool, args }) => tool !== 'task_wait' && (tool !== 'task' || args.background === true))
}

/** What a worker's record sets going in the main thread. */
function react(kernel: Kernel, entry: SessionEntry, record: JournalRecord): void {
  switch (record.type) {
    case 'assistant.message':
      return kernel.partials.drop(entry.seed.session)
    case 'call.finished':
      return kernel.processes.forget(entry.seed.session, record.call)
    case 'turn.failed':
      return kernel.partials.drop(entry.seed.session)
    case 'ask.requested':
      // A stopped session's question is closed with its turn.
      return entry.stopping > 0 ? undefined : kernel.asks.open(entry, record)
  }
}
