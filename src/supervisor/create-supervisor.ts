import type { Subject } from 'rxjs'
import type { AgentDefinition, AgentLimits } from '../core/agent.ts'
import { RuntimeError } from '../core/errors.ts'
import type { EventBody, PermissionAsk, RuntimeEvent } from '../core/events.ts'
import { type AskId, newSessionId, parseSessionId, type SessionId } from '../core/ids.ts'
import type { LiveBatch } from '../core/messages.ts'
import type { AskAnswer } from '../core/permission.ts'
import { type Board, createBoard } from '../jobboard/create-board.ts'
import { createAsks } from './asks.ts'
import { createControl } from './control.ts'
import { createDeadlines } from './deadlines.ts'
import { createEventStream } from './event-stream.ts'
import { createFinishing } from './finish.ts'
import { createKernel, type Kernel, type SupervisorOptions } from './kernel.ts'
import { createLaunching } from './launch.ts'
import { createLocks } from './locks.ts'
import { createPartials } from './partials.ts'
import { createPlacement } from './placement.ts'
import { createProcesses } from './processes.ts'
import { continueTree, loadTree } from './recover.ts'
import { createRuns, type RunFinished } from './runs.ts'
import { newEntry, type SessionEntry } from './session-entry.ts'
import { createSlots } from './slots.ts'
import { createStopping } from './stop.ts'
import { createSupervisorApi } from './supervisor-api.ts'
import { sweepLeftovers } from './sweep-leftovers.ts'
import { createWaits } from './waits.ts'

/** What a run starts with. */
export type RunRequest = {
  /** Missing: only go on with what is open in the session. */
  prompt?: string
  agent: AgentDefinition
  model: string
  dir: string
  /** An existing root is continued, an unknown id is created. Missing: a new one. */
  session?: string
  limits?: AgentLimits
}

/** A run: a root session at work until nothing under it is open. */
export type Run = {
  readonly session: SessionId
  /** Resolves with the run's last event; never rejects. */
  readonly finished: Promise<RunFinished>
  /** Says something to the root: placed at its next boundary. */
  send(text: string): void
  /** Stops the root's present turn; jobs in the background go on. */
  interrupt(): Promise<void>
  /** Stops everything; the run ends as `interrupted`. */
  cancel(): Promise<void>
}

export type Supervisor = {
  readonly events$: Subject<RuntimeEvent>
  readonly board: Board
  run(request: RunRequest): Run
  /** Lets a foreground job go on in the background; false when there is no such job. */
  moveToBackground(job: string): boolean
  asks(): PermissionAsk[]
  answer(id: AskId, answer: AskAnswer): 'accepted' | 'gone'
  /** Ends workers and tool processes; journals stay as they are, so that what was open can be resumed. */
  close(): Promise<void>
}

/** The main thread's part of the runtime. Close it. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const kernel = assemble(options)
  const locks = new Map<SessionId, { release(): void }>()

  function openRoot(request: RunRequest): SessionEntry {
    const session = request.session === undefined ? newSessionId() : parseSessionId(request.session)
    const known = kernel.entries.get(session)
    if (known) return known
    if (kernel.store.findRoot(session) && kernel.store.findRoot(session) !== session) throw notARoot(session)
    locks.set(session, kernel.store.lockRoot(session))
    try {
      return restored(session) ?? created(session, request)
    } catch (thrown) {
      locks.get(session)?.release()
      locks.delete(session)
      throw thrown
    }
  }

  function restored(session: SessionId): SessionEntry | undefined {
    if (!kernel.store.exists({ root: session, session })) return undefined
    return loadTree(kernel, session)
  }

  function created(session: SessionId, { prompt, agent, model, dir, limits }: RunRequest): SessionEntry {
    if (prompt === undefined) {
      throw new RuntimeError('unknown-session', `There is no session ${session}. List them: troupe sessions`)
    }
    const seed = { session, root: session, depth: 0, agent, model, dir, limits: { ...agent.limits, ...limits } }
    const entry = newEntry(seed)
    kernel.entries.set(session, entry)
    entry.fresh = kernel.record(entry, [{ type: 'session.created', version: 1, seed }])
    return entry
  }

  function run(request: RunRequest): Run {
    const entry = openRoot(request)
    const { session } = entry.seed
    if (kernel.runs.has(session)) {
      throw new RuntimeError(
        'session-busy',
        `Session ${session} is at work in this program. Send it a message instead.`,
      )
    }
    const finished = kernel.runs.begin(session)
    if (request.limits?.timeoutMs) kernel.deadlines.start(entry, request.limits.timeoutMs)
    if (request.prompt !== undefined) kernel.say(entry, request.prompt)
    if (!entry.fresh) void goOn(kernel, entry)
    return {
      session,
      finished,
      send: (text) => kernel.say(entry, text),
      interrupt: () => kernel.stopping.interrupt(entry, 'The user stopped this turn.'),
      cancel: () => cancelRun(kernel, entry),
    }
  }

  return {
    events$: kernel.stream.events$,
    board: kernel.board,
    run,
    moveToBackground(job) {
      const child = kernel.entries.get(job as SessionId)
      return child !== undefined && kernel.control.moveToBackground(child, 'The user moved it.')
    },
    asks: () => kernel.asks.pending(),
    answer: (id, answer) => kernel.asks.answer(id, answer),
    async close() {
      kernel.closing = true
      await kernel.host.close()
      kernel.partials.close()
      kernel.deadlines.close()
      kernel.waits.close()
      await kernel.processes.close()
      kernel.board.close()
      kernel.stream.events$.complete()
      for (const lock of locks.values()) lock.release()
    },
  }
}

function assemble(options: SupervisorOptions): Kernel {
  const { store, clock } = options
  const kernel = createKernel({ options, store, clock, board: createBoard(), stream: createEventStream(clock) })
  kernel.locks = createLocks()
  kernel.slots = createSlots({
    onWaiting: ({ session }, ahead) => kernel.emit(kernel.entry(session), { type: 'model.waiting', ahead }),
  })
  kernel.processes = createProcesses({})
  kernel.partials = createPartials(clock, (session, turn, text) => {
    const entry = kernel.entries.get(session)
    if (entry?.status === 'active') kernel.record(entry, [{ type: 'turn.partial', turn, text }])
  })
  kernel.placement = createPlacement(kernel)
  kernel.launching = createLaunching(kernel)
  kernel.finishing = createFinishing(kernel)
  kernel.asks = createAsks(kernel)
  kernel.stopping = createStopping(kernel)
  kernel.runs = createRuns(kernel)
  kernel.deadlines = createDeadlines(kernel)
  kernel.waits = createWaits(kernel)
  kernel.control = createControl(kernel)
  kernel.host = options.createHost({
    api: createSupervisorApi(kernel),
    onLive: (events) => takeLive(kernel, events),
    onDied: (worker, error) => reportDeath(kernel, worker, error),
  })
  return kernel
}

function takeLive(kernel: Kernel, events: LiveBatch['events']): void {
  for (const { session, epoch, event } of events) {
    const entry = kernel.entries.get(session)
    if (!entry || entry.epoch !== epoch || entry.status !== 'active') continue
    if (event.type === 'text.delta') kernel.partials.add(session, event)
    noteDoing(kernel, entry, event)
    kernel.emit(entry, event)
  }
}

function noteDoing({ board }: Kernel, entry: SessionEntry, event: EventBody): void {
  const { parent } = entry.seed
  if (!parent || event.type !== 'tool.started') return
  const doing = event.title ? `${event.tool} ${event.title}` : event.tool
  board.apply({ type: 'job.changed', job: parent.job, generation: entry.generation, state: 'running', doing })
}

function reportDeath(kernel: Kernel, worker: Parameters<SupervisorOptionsDied>[0], error: Error): void {
  const affected = [...kernel.entries.values()].filter((entry) => entry.worker === worker)
  const sessions = affected.map(({ seed }) => seed.session)
  const first = affected[0]
  if (first)
    kernel.emit(first, {
      type: 'worker.died',
      worker,
      error: { code: 'worker-died', message: error.message },
      sessions,
    })
}

type SupervisorOptionsDied = Parameters<SupervisorOptions['createHost']>[0]['onDied']

/** Commands of a program that died must be gone before their calls are answered by looking again. */
async function goOn(kernel: Kernel, entry: SessionEntry): Promise<void> {
  await sweepLeftovers()
  if (!kernel.closing) continueTree(kernel, entry)
}

async function cancelRun(kernel: Kernel, entry: SessionEntry): Promise<void> {
  kernel.runs.mark(entry.seed.root, 'interrupted')
  await kernel.stopping.cancelTree(entry, 'The user cancelled the run.')
  kernel.runs.finish(entry, 'interrupted')
}

function notARoot(session: SessionId): RuntimeError {
  return new RuntimeError(
    'not-a-root',
    `${session} is a sub-agent's session. Continue its root instead; troupe show ${session} prints it.`,
  )
}
