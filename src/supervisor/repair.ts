import type { CallId } from '../core/ids.ts'
import type { JobResult, JournalRecord } from '../core/records.ts'
import { deliveryKey, fold } from '../session/fold.ts'
import type { Kernel } from './kernel.ts'
import { callResultOf } from './result-for-parent.ts'
import { type ChildEntry, openJobs, refOf, type SessionEntry } from './session-entry.ts'

/**
 * Completes in the journals of a tree what a crash, or the lost end of a journal, has left between two of them. Parents
 * come first: what a parent knows of a job counts more than the child's own journal.
 */
export function repairTree(kernel: Kernel, root: SessionEntry): void {
  for (const entry of kernel.treeOf(root)) {
    restoreEnd(kernel, entry)
    if (entry.status === 'ended') endOpenJobs(kernel, entry)
    else repairJobs(kernel, entry)
  }
}

/** A child whose result its parent has is over, whatever its own journal has lost of it. */
function restoreEnd(kernel: Kernel, entry: SessionEntry): void {
  const parent = kernel.parentOf(entry)
  const row = entry.seed.parent && parent?.jobs.get(entry.seed.parent.job)
  if (!parent || !row || entry.status === 'ended' || row.generation !== entry.generation) return
  if (!parent.received.has(deliveryKey(row.job, row.generation))) return
  const result = deliveredResult(kernel.store.read(refOf(parent)), row, entry)
  if (result) kernel.record(entry, [{ type: 'session.ended', generation: row.generation, result }])
}

/** The result as the parent's journal has it; of a foreground job that is the text of its call. */
function deliveredResult(
  records: JournalRecord[],
  { job, generation }: ChildEntry,
  { usage, turn: turns }: SessionEntry,
): JobResult | undefined {
  for (const record of records) {
    const isOurs = (one: { job: string; generation: number }) => one.job === job && one.generation === generation
    if (record.type === 'result.undeliverable' && isOurs(record)) return record.result
    if (record.type === 'call.finished' && record.job && isOurs(record.job)) {
      return { state: record.job.state, text: record.result.output, usage: { ...usage }, turns }
    }
    if (record.type !== 'message.received' || record.message.kind !== 'result') continue
    if (isOurs(record.message)) return record.message.result
  }
  return undefined
}

/** Under a session that is over nothing goes on. */
function endOpenJobs(kernel: Kernel, entry: SessionEntry): void {
  for (const { job, generation } of openJobs(entry)) {
    if (entry.received.has(deliveryKey(job, generation))) continue
    const child = kernel.entries.get(job as never)
    if (child && child.status !== 'ended') {
      kernel.record(child, [{ type: 'session.ended', generation: child.generation, result: cancelledResult(child) }])
    }
    const result = child?.end ?? cancelledResult(child)
    kernel.record(entry, [{ type: 'result.undeliverable', job, generation, result }])
  }
}

function cancelledResult(child: SessionEntry | undefined): JobResult {
  const error = { code: 'cancelled', message: 'The agent that sent it has ended.' }
  const { text = '', turn: turns = 0, usage = { inputTokens: 0, outputTokens: 0 } } = child ?? {}
  return { state: 'cancelled', text, error, usage: { ...usage }, turns }
}

/** A job that was launched, or continued, just before a crash may not have heard of it; its call may lack its answer. */
function repairJobs(kernel: Kernel, entry: SessionEntry): void {
  if (entry.jobs.size === 0) return
  const records = kernel.store.read(refOf(entry))
  for (const call of fold(records).calls) {
    if (call.job && !call.result) answerStopped(kernel, entry, { call: call.id, ...call.job, records })
  }
  for (const { job, generation } of openJobs(entry)) {
    const launched = records.findLast((record): record is Launched => isLaunch(record) && record.job === job)
    const child = kernel.entries.get(job as never)
    if (!launched) continue
    if (!child) kernel.launching.createChild(entry, launched)
    else if (lacksPrompt(child, generation)) tell(kernel, child, launched.prompt)
  }
}

type Waiting = { call: CallId; job: string; generation: number; records: JournalRecord[] }

/** The job was stopped together with this session, which then did not come to its own end. */
function answerStopped(kernel: Kernel, entry: SessionEntry, { call, job, generation, records }: Waiting): void {
  const kept = records.find((record) => record.type === 'result.undeliverable' && record.job === job)
  if (kept?.type !== 'result.undeliverable' || kept.generation !== generation) return
  const alias = entry.jobs.get(kept.job)?.alias ?? ''
  kernel.record(entry, [
    { type: 'call.finished', call, result: { ...callResultOf(kept.result, alias), how: 'interrupted' }, durationMs: 0 },
  ])
}

function lacksPrompt(child: SessionEntry, generation: number): boolean {
  if (child.status === 'ended') return child.generation < generation
  return child.turn === 0 && child.waiting.size === 0
}

/** `kernel.say` would activate it at once, before its own jobs are repaired. */
function tell(kernel: Kernel, child: SessionEntry, text: string): void {
  kernel.record(child, [{ type: 'message.received', message: { kind: 'user', text } }])
}

type Launched = Extract<JournalRecord, { type: 'job.launched' }>

function isLaunch(record: JournalRecord): record is Launched {
  return record.type === 'job.launched'
}
