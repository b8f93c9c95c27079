import type { CallId } from '../core/ids.ts'
import type { JobResult, JournalRecord, Message } from '../core/records.ts'
import { fold } from '../session/fold.ts'
import { promptMessage } from '../session/handed-context.ts'
import type { Kernel } from './kernel.ts'
import { callResultOf } from './result-for-parent.ts'
import { type ChildEntry, openJobs, refOf, type SessionEntry } from './session-entry.ts'
import { keepUndeliverable } from './undeliverable.ts'

/**
 * Completes in the journals of a tree what a crash, or the lost end of a journal, has left between two of them. Parents
 * come first: what a parent knows of a job counts more than the child's own journal.
 */
export function repairTree(kernel: Kernel, root: SessionEntry): void {
  for (const entry of kernel.treeOf(root)) {
    if (entry.jobs.size === 0) continue
    const records = kernel.store.read(refOf(entry))
    for (const row of entry.jobs.values()) restoreChild(kernel, row, records)
    if (entry.status === 'ended') endOpenJobs(kernel, entry)
    else repairJobs(kernel, entry, records)
  }
}

/**
 * A child whose result its parent has is over, whatever its own journal has lost of it: ends, prompts, whole
 * generations. One that is further on than its parent knows stops there.
 */
function restoreChild(kernel: Kernel, row: ChildEntry, records: JournalRecord[]): void {
  const child = kernel.entries.get(row.job as never)
  if (!child) return
  if (child.generation > row.generation) return endNow(kernel, child, cancelledResult(child))
  while (child.generation < row.generation) {
    endNow(kernel, child, deliveredResult(records, row.job, child) ?? cancelledResult(child))
    tell(kernel, child, promptOf(records, row.job, child.generation + 1))
  }
  const result = deliveredResult(records, row.job, child)
  if (result) endNow(kernel, child, result)
}

function endNow(kernel: Kernel, entry: SessionEntry, result: JobResult): void {
  if (entry.status === 'ended') return
  kernel.record(entry, [{ type: 'session.ended', generation: entry.generation, result }])
}

function promptOf(records: JournalRecord[], job: string, generation: number): Message {
  const launched = records.find((record) => isLaunch(record) && record.job === job && record.generation === generation)
  return promptMessage(launched?.type === 'job.launched' ? launched : { prompt: '' })
}

/** The result as the parent's journal has it; of a foreground job that is the text of its call. */
function deliveredResult(
  records: JournalRecord[],
  job: string,
  { generation, usage, turn: turns }: SessionEntry,
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
  const children = openJobs(entry).flatMap(({ job }) => kernel.entries.get(job as never) ?? [])
  for (const child of children) endNow(kernel, child, cancelledResult(child))
  keepUndeliverable(kernel, entry)
  for (const { job, generation } of openJobs(entry)) {
    kernel.record(entry, [{ type: 'result.undeliverable', job, generation, result: cancelledResult(undefined) }])
  }
}

function cancelledResult(child: SessionEntry | undefined): JobResult {
  const error = { code: 'cancelled', message: 'The agent that sent it has ended.' }
  const { text = '', turn: turns = 0, usage = { inputTokens: 0, outputTokens: 0 } } = child ?? {}
  return { state: 'cancelled', text, error, usage: { ...usage }, turns }
}

/** A job that was launched, or continued, just before a crash may not have heard of it; its call may lack its answer. */
function repairJobs(kernel: Kernel, entry: SessionEntry, records: JournalRecord[]): void {
  for (const call of fold(records).calls) {
    if (call.job && !call.result) answerStopped(kernel, entry, { call: call.id, ...call.job, records })
  }
  for (const row of openJobs(entry)) {
    const child = kernel.entries.get(row.job as never)
    const launched = records.find((record): record is Launched => isLaunch(record) && record.job === row.job)
    if (!launched) continue
    if (!child) {
      kernel.launching.createChild(entry, launched)
      restoreChild(kernel, row, records)
    } else if (child.turn + child.waiting.size === 0) {
      tell(kernel, child, promptOf(records, row.job, row.generation))
    }
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

/** `kernel.tell` would activate it at once, before its own jobs are repaired. */
function tell(kernel: Kernel, child: SessionEntry, message: Message): void {
  kernel.record(child, [{ type: 'message.received', message }])
}

type Launched = Extract<JournalRecord, { type: 'job.launched' }>

function isLaunch(record: JournalRecord): record is Launched {
  return record.type === 'job.launched'
}
