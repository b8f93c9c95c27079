import type { SessionId } from '../core/ids.ts'
import type { CallResult, JournalRecord } from '../core/records.ts'
import type { OpenCall, SessionState } from '../core/state.ts'
import { changesOf } from '../jobboard/changes-of.ts'
import { fold } from '../session/fold.ts'
import { lastAnswer, nextStep, waitsOutside } from '../session/next-step.ts'
import { entryFromRecords, type Kernel } from './kernel.ts'
import { openJobs, refOf, type SessionEntry } from './session-entry.ts'

/** The result of a side-effecting call that had begun when its worker or the program went down. */
export function interruptedResult(): CallResult {
  const output = 'This call was interrupted while it ran; its effect is unknown. Look before you repeat it.'
  return { output, isError: true, how: 'interrupted' }
}

/**
 * Brings a root's tree back from its journals. Nothing is started: `continueTree` does that. Calls that had begun are
 * answered as interrupted and never run again.
 */
export function loadTree(kernel: Kernel, root: SessionId): SessionEntry | undefined {
  for (const session of kernel.store.sessionsOf(root)) loadSession(kernel, { root, session })
  return kernel.entries.get(root)
}

function loadSession(kernel: Kernel, ref: { root: SessionId; session: SessionId }): void {
  const records = kernel.store.read(ref)
  const entry = entryFromRecords(records)
  if (!entry) return
  kernel.entries.set(ref.session, entry)
  for (const change of records.flatMap((record) => changesOf(record, ref))) kernel.board.apply(change)
  const state = fold(records)
  entry.text = lastAnswer(state)
  for (const call of state.calls) {
    if (call.started && !call.result) {
      kernel.record(entry, [{ type: 'call.finished', call: call.id, result: interruptedResult(), durationMs: 0 }])
    }
  }
}

/** Goes on where the tree was: missing children are made, results handed on, asks put again, sessions activated. */
export function continueTree(kernel: Kernel, root: SessionEntry): void {
  const tree = kernel.treeOf(root)
  for (const entry of tree) repairJobs(kernel, entry)
  for (const entry of kernel.treeOf(root).toReversed()) continueSession(kernel, entry)
}

/** A job launched just before a crash may have no session yet; one that ended may not have been delivered. */
function repairJobs(kernel: Kernel, entry: SessionEntry): void {
  if (entry.status === 'ended' || openJobs(entry).length === 0) return
  const launches = kernel.store.read(refOf(entry)).filter(isLaunch)
  for (const { job, generation } of openJobs(entry)) {
    const launched = launches.findLast((record) => record.job === job && record.generation === generation)
    const child = kernel.entries.get(job as never)
    if (!child && launched) kernel.launching.createChild(entry, launched)
    else if (child?.status === 'ended' && child.generation === generation) kernel.finishing.deliver(child)
    else if (child?.status === 'ended' && launched) kernel.say(child, launched.prompt)
  }
}

function continueSession(kernel: Kernel, entry: SessionEntry): void {
  if (entry.status === 'ended' || isOutranked(kernel, entry)) return
  const records = kernel.store.read(refOf(entry))
  const state = fold(records)
  for (const call of state.calls) {
    askAgain(kernel, entry, call, records)
    if (call.wait && !call.result) kernel.waits.open(entry, { call: call.id, ...call.wait })
  }
  const { timeoutMs } = entry.seed.limits
  if (timeoutMs && entry.seed.parent) kernel.deadlines.start(entry, timeoutMs)
  if (hasWork(state)) kernel.placement.wake(entry)
  else if (state.calls.some((call) => !call.result)) entry.status = 'suspended'
  else kernel.finishing.settle(entry)
}

/** A parent's delivery record counts more than the lost end of a child's journal. */
function isOutranked(kernel: Kernel, entry: SessionEntry): boolean {
  const row = entry.seed.parent && kernel.parentOf(entry)?.jobs.get(entry.seed.parent.job)
  if (!row?.delivered || row.generation !== entry.generation) return false
  entry.status = 'ended'
  return true
}

function askAgain(kernel: Kernel, entry: SessionEntry, call: OpenCall, records: JournalRecord[]): void {
  if (call.result || !call.ask || call.ask.answer) return
  const asked = records.findLast((record) => record.type === 'ask.requested' && record.id === call.ask?.id)
  if (asked?.type === 'ask.requested') kernel.asks.open(entry, asked)
}

function hasWork(state: SessionState): boolean {
  const step = nextStep(state, { running: new Set(), isWriting: () => false, maxTurns: Number.POSITIVE_INFINITY })
  if (step.do === 'suspend') return false
  if (step.do === 'run') return step.calls.some((call) => !waitsOutside(call))
  return step.do !== 'idle' && step.do !== 'ended'
}

type LaunchRecord = Extract<JournalRecord, { type: 'job.launched' }>

function isLaunch(record: JournalRecord): record is LaunchRecord {
  return record.type === 'job.launched'
}
