import type { ErrorData } from '../core/errors.ts'
import type { SessionId } from '../core/ids.ts'
import { fold } from '../session/fold.ts'
import type { WorkerDeath } from '../workers/host.ts'
import type { Kernel } from './kernel.ts'
import { interruptedResult } from './recover.ts'
import { decideRestart, restartsFailures } from './restart-policy.ts'
import { refOf, type SessionEntry } from './session-entry.ts'
import { createSuspects } from './suspects.ts'

/** What becomes of sessions whose worker died, or whose activation failed. */
export type Restarts = {
  /** Tells of it, and judges who was on the worker; their activations reject afterwards. */
  workerDied(death: WorkerDeath): void
  /** It needs a worker of its own: its agent says so, or it is suspected of having ended one. */
  needsOwnWorker(entry: SessionEntry): boolean
  survived(entry: SessionEntry): void
  /** A worker died, or an activation with it. */
  crashed(entry: SessionEntry, error: ErrorData): void
  /** The model could not answer, retries included. */
  failed(entry: SessionEntry, error: ErrorData): void
  /** Which attempt at its present turn the next activation makes, from 1. */
  attemptOf(entry: SessionEntry): number
  /** A restart that was planned is overtaken. */
  forget(entry: SessionEntry): void
  close(): void
}

/** Siblings never start again closer to each other than this, in milliseconds. */
const siblingGapMs = 50

/** `queue` takes a session in line; until then a session that waits for its restart has the status `queued`. */
export function createRestarts(kernel: Kernel, queue: (entry: SessionEntry) => void): Restarts {
  const suspects = createSuspects<SessionEntry>()
  const restartedAt = new WeakMap<SessionEntry, number[]>()
  const familyStartedAt = new WeakMap<SessionEntry, number>()
  const failedTurns = new WeakMap<SessionEntry, { turn: number; times: number }>()
  const planned = new Map<SessionEntry, () => void>()

  function crashed(entry: SessionEntry, error: ErrorData): void {
    const verdict = error.code === 'worker-died' ? suspects.verdictOf(entry) : 'culprit'
    answerStarted(kernel, entry)
    if (verdict === 'culprit') again(entry, error.message)
    else kernel.placement.wake(entry)
  }

  function again(entry: SessionEntry, reason: string): void {
    const decision = decideRestart({
      policy: entry.seed.agent.restart,
      restartedAt: restartedAt.get(entry) ?? [],
      now: kernel.clock.monotonic(),
      random: Math.random(),
      reason,
    })
    if (!decision.restart) {
      const { code, why } = decision
      return void kernel.finishing.end(entry, { state: 'failed', error: { code, message: why } })
    }
    restartedAt.set(entry, decision.restartedAt)
    entry.status = 'queued'
    kernel.noteJob(entry, 'queued')
    plan(entry, reason, decision.delayMs)
  }

  function plan(entry: SessionEntry, reason: string, delayMs: number): void {
    const alive = keepProcessAlive()
    const cancel = kernel.clock.after(delayMs, () => {
      alive.end()
      planned.delete(entry)
      if (!kernel.closing && entry.status === 'queued' && !entry.stopping) start(entry, reason)
    })
    planned.set(entry, () => {
      alive.end()
      cancel()
    })
  }

  function start(entry: SessionEntry, reason: string): void {
    const family = kernel.parentOf(entry) ?? entry
    const now = kernel.clock.monotonic()
    const gapMs = now - (familyStartedAt.get(family) ?? Number.NEGATIVE_INFINITY)
    if (gapMs < siblingGapMs) return plan(entry, reason, siblingGapMs - gapMs)
    familyStartedAt.set(family, now)
    reopenFailedTurn(entry)
    entry.restarts += 1
    const { epoch, restarts } = entry
    kernel.emit(entry, { type: 'session.restarted', epoch: epoch + 1, reason, restarts })
    queue(entry)
  }

  /** A turn that failed is asked for once more, under its number; messages that have come open one by themselves. */
  function reopenFailedTurn(entry: SessionEntry): void {
    if (!restartsFailures(entry.seed.agent.restart)) return
    const { failure, phase, mailbox, turn } = fold(kernel.store.read(refOf(entry)))
    if (!failure || phase !== 'idle' || mailbox.length > 0) return
    kernel.record(entry, [{ type: 'turn.started', turn, consumed: [], epoch: entry.epoch }])
  }

  function attemptOf(entry: SessionEntry): number {
    const failed = failedTurns.get(entry)
    return failed?.turn === entry.turn ? failed.times + 1 : 1
  }

  function workerDied(death: WorkerDeath): void {
    const entries = new Map(
      death.aboard.flatMap(({ session, epoch }) => {
        const entry = kernel.entries.get(session)
        return entry?.epoch === epoch && entry.status === 'active' ? [[session, entry] as const] : []
      }),
    )
    const culprit = death.culprit && entries.get(death.culprit.session)
    const aboard = [...entries.values()]
    const busy = new Set(aboard.filter(({ running }) => running.size > 0))
    suspects.judge({ aboard, busy, started: death.started, ...(culprit && { culprit }) })
    for (const root of new Set([...entries.values()].map(({ seed }) => seed.root))) tell(kernel, root, death, entries)
  }

  return {
    workerDied,
    needsOwnWorker: (entry) => entry.seed.agent.isolation === 'thread' || suspects.isApart(entry),
    survived: suspects.clear,
    crashed,
    failed(entry, error) {
      if (!restartsFailures(entry.seed.agent.restart)) {
        return void kernel.finishing.end(entry, { state: 'failed', error })
      }
      failedTurns.set(entry, { turn: entry.turn, times: attemptOf(entry) })
      again(entry, error.message)
    },
    attemptOf,
    forget(entry) {
      planned.get(entry)?.()
      planned.delete(entry)
    },
    close() {
      for (const cancel of planned.values()) cancel()
      planned.clear()
    },
  }
}

/** Answers side-effecting calls that had begun, but for those whose process still runs outside the worker. */
export function answerStarted(kernel: Kernel, entry: SessionEntry): void {
  for (const call of [...entry.started]) {
    if (kernel.processes.has(entry.seed.session, call)) continue
    kernel.record(entry, [{ type: 'call.finished', call, result: interruptedResult(), durationMs: 0 }])
  }
}

/** Each tree hears of its own sessions. */
function tell(
  kernel: Kernel,
  root: SessionId,
  { worker, error }: WorkerDeath,
  dead: Map<SessionId, SessionEntry>,
): void {
  const sessions = [...dead.values()].filter(({ seed }) => seed.root === root).map(({ seed }) => seed.session)
  const { code, message } = error
  kernel.emit(kernel.entry(root), { type: 'worker.died', worker, error: { code, message }, sessions })
}

/** Timers of a clock keep no process alive; a session that will start again does. */
function keepProcessAlive(): { end(): void } {
  const timer = setInterval(() => undefined, 2 ** 30)
  return { end: () => clearInterval(timer) }
}
