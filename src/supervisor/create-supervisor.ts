import { basename, dirname } from 'node:path'
import type { Subject } from 'rxjs'
import { RuntimeError, toErrorData } from '../core/errors.ts'
import type { EventBody, PermissionAsk, RuntimeEvent } from '../core/events.ts'
import type { AskId, SessionId } from '../core/ids.ts'
import type { LiveBatch } from '../core/messages.ts'
import type { AskAnswer } from '../core/permission.ts'
import { type Board, createBoard } from '../jobboard/create-board.ts'
import { createAsks, type Decided } from './asks.ts'
import { createClaims } from './claims.ts'
import { createControl } from './control.ts'
import { createDeadlines } from './deadlines.ts'
import { createEventStream } from './event-stream.ts'
import { createFinishing } from './finish.ts'
import { createKernel, type Kernel, type SupervisorOptions } from './kernel.ts'
import { createLaunching } from './launch.ts'
import { createLocks } from './locks.ts'
import { createRoots, type RunRequest } from './open-root.ts'
import { createPartials } from './partials.ts'
import { createPlacement } from './placement.ts'
import { createProcesses } from './processes.ts'
import { continueTree } from './recover.ts'
import { createRuns, type RunFinished } from './runs.ts'
import type { SessionEntry } from './session-entry.ts'
import { createSlots } from './slots.ts'
import { createStalls } from './stalls.ts'
import { createStopping } from './stop.ts'
import { createSupervisorApi } from './supervisor-api.ts'
import { sweepLeftovers } from './sweep-leftovers.ts'
import { createWaits } from './waits.ts'
import { createWorktrees } from './worktrees.ts'

/** A run: a root session at work until nothing under it is open. */
export type Run = {
  readonly session: SessionId
  /** Resolves with the run's last event; never rejects. */
  readonly finished: Promise<RunFinished>
  /** Says something to the root: placed at its next boundary. Throws `run-over` once the run has ended. */
  send(text: string): void
  /** Stops the root's present turn; jobs in the background go on. */
  interrupt(): Promise<void>
  /** Stops everything; the run ends as `interrupted`. */
  cancel(): Promise<void>
}

export type Supervisor = {
  readonly events$: Subject<RuntimeEvent>
  readonly board: Board
  /** Something will run soon: a first thread may start. */
  warm(): void
  run(request: RunRequest): Run
  /** Lets a foreground job go on in the background; false when there is no such job. */
  moveToBackground(job: string): boolean
  /** Tells of a journal that was damaged and loaded around. */
  reportDamage(damage: { path: string; message: string }): void
  asks(): PermissionAsk[]
  answer(id: AskId, answer: AskAnswer): 'accepted' | 'gone'
  decided(id: AskId): Decided | undefined
  /** Ends workers and tool processes; journals stay as they are, so that what was open can be resumed. */
  close(): Promise<void>
}

/** The main thread's part of the runtime. Close it. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const kernel = assemble(options)
  const roots = createRoots(kernel)

  function run(request: RunRequest): Run {
    const { entry, restored } = roots.open(request)
    const { session } = entry.seed
    const finished = kernel.runs.begin(session)
    const { settings } = options
    const asked = request.limits?.timeoutMs ?? settings.budget.timeoutMs
    const timeoutMs = asked ?? entry.seed.agent.limits.timeoutMs ?? settings.limits.timeoutMs
    if (timeoutMs) kernel.deadlines.start(entry, timeoutMs)
    // Whoever stops a run that is over must not stop what its session does next.
    let isOver = false
    void finished.then(() => {
      isOver = true
    })
    const ready = restored ? goOn(kernel, entry) : undefined
    if (!restored) begin(kernel, entry)
    return {
      session,
      finished,
      send(text) {
        if (isOver || kernel.closing || !kernel.runs.goesOn(session)) throw runOver(session)
        if (ready) void ready.then(() => kernel.say(entry, text))
        else kernel.say(entry, text)
      },
      async interrupt() {
        if (ready) await ready
        if (isOver) return
        await kernel.stopping.interrupt(entry, 'The user stopped this turn.')
      },
      async cancel() {
        // At once where there is nothing to wait for: an answer that comes after it comes too late.
        if (ready) await ready
        if (!isOver) await cancelRun(kernel, entry)
      },
    }
  }

  return {
    events$: kernel.stream.events$,
    board: kernel.board,
    warm: () => kernel.host.warm(),
    run,
    moveToBackground(job) {
      const child = kernel.entries.get(job as SessionId)
      return child !== undefined && kernel.control.moveToBackground(child, 'The user moved it.')
    },
    reportDamage({ path, message }) {
      const session = basename(path, '.jsonl') as SessionId
      const root = basename(dirname(path)) as SessionId
      kernel.stream.emit({ root, session }, { type: 'journal.damaged', path, message })
    },
    asks: () => kernel.asks.pending(),
    answer: (id, answer) => kernel.asks.answer(id, answer),
    decided: (id) => kernel.asks.decided(id),
    async close() {
      kernel.closing = true
      await kernel.host.close()
      kernel.placement.close()
      kernel.partials.close()
      kernel.deadlines.close()
      kernel.waits.close()
      kernel.asks.close()
      kernel.stalls.close()
      await kernel.processes.close()
      kernel.board.close()
      kernel.stream.events$.complete()
      roots.close()
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
  kernel.stalls = createStalls(kernel)
  kernel.control = createControl(kernel)
  kernel.claims = createClaims(kernel)
  kernel.worktrees = createWorktrees(kernel)
  kernel.host = options.createHost({
    api: createSupervisorApi(kernel),
    onLive: (events) => takeLive(kernel, events),
    onDied: (death) => kernel.placement.workerDied(death),
  })
  return kernel
}

function takeLive(kernel: Kernel, events: LiveBatch['events']): void {
  for (const { session, epoch, event } of events) {
    const entry = kernel.entries.get(session)
    if (!entry || entry.epoch !== epoch || entry.status !== 'active') continue
    kernel.stalls.heard(entry, event.type)
    if (event.type === 'text.delta') kernel.partials.add(session, event)
    if (event.type === 'model.retried') kernel.partials.retry(session)
    if (event.type === 'tool.started') entry.running.add(event.callId)
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

function begin(kernel: Kernel, entry: SessionEntry): void {
  if (entry.waiting.size > 0) kernel.placement.wake(entry)
  else kernel.finishing.settle(entry)
}

function runOver(session: SessionId): RuntimeError {
  return new RuntimeError(
    'run-over',
    `The run of ${session} is over. Continue it: troupe.run({ session: '${session}', prompt })`,
  )
}

/** Commands of a program that died must be gone before their calls are answered by looking again. */
async function goOn(kernel: Kernel, entry: SessionEntry): Promise<void> {
  try {
    await sweepLeftovers()
    if (!kernel.closing) continueTree(kernel, entry)
  } catch (thrown) {
    kernel.runs.finish(entry, 'failed', toErrorData(thrown))
  }
}

async function cancelRun(kernel: Kernel, entry: SessionEntry): Promise<void> {
  kernel.runs.mark(entry.seed.root, 'interrupted')
  await kernel.stopping.cancelTree(entry, 'The user cancelled the run.')
  kernel.runs.finish(entry, 'interrupted')
}
