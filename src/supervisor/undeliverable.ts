import type { JobResult } from '../core/records.ts'
import type { Kernel } from './kernel.ts'
import { type ChildEntry, openJobs, type SessionEntry } from './session-entry.ts'

/**
 * Results of a stopped session's jobs have no turn to go to, whether they are on their way or wait in its mailbox: they
 * stay in its journal for people. Jobs without an end yet are left alone.
 */
export function keepUndeliverable(kernel: Kernel, entry: SessionEntry): void {
  for (const row of openJobs(entry)) {
    const result = waitingResult(entry, row) ?? endOf(kernel, row)
    if (!result) continue
    const { job, generation } = row
    kernel.record(entry, [{ type: 'result.undeliverable', job, generation, result }])
  }
}

function waitingResult({ waiting }: SessionEntry, { job, generation }: ChildEntry): JobResult | undefined {
  for (const message of waiting.values()) {
    if (message.kind === 'result' && message.job === job && message.generation === generation) return message.result
  }
  return undefined
}

function endOf({ entries }: Kernel, { job, generation }: ChildEntry): JobResult | undefined {
  const child = entries.get(job as never)
  return child?.generation === generation ? child.end : undefined
}
