import { roomForText, shareOfRoom } from '../core/context-room.ts'
import type { ErrorData } from '../core/errors.ts'
import type { EndState, JobResult } from '../core/records.ts'
import { deliveryKey, fold } from '../session/fold.ts'
import { lastAnswer } from '../session/next-step.ts'
import type { Kernel } from './kernel.ts'
import { callResultOf, resultForParent } from './result-for-parent.ts'
import { openJobs, refOf, type SessionEntry } from './session-entry.ts'
import { keepUndeliverable } from './undeliverable.ts'
import { usageOfTree } from './usage.ts'

type EndedHow = { state: Exclude<EndState, 'completed'>; error?: ErrorData }

/** Ends sessions and hands their results on. */
export type Finishing = {
  /** Looks whether an idle session is over: nothing waits and every job under it is delivered. */
  settle(entry: SessionEntry): void
  /** Ends a session that cannot go on, and all under it. Text: what it had. */
  end(entry: SessionEntry, how: EndedHow): Promise<void>
  /** Hands an ended child's result to its parent, once. `earlier`: of the generation that the parent knows, when the child is further on. */
  deliver(child: SessionEntry, earlier?: JobResult): void
}

const maxResultChars = { full: 30_000, compact: 20_000 }

export function createFinishing(kernel: Kernel): Finishing {
  function settle(entry: SessionEntry): void {
    if (entry.status !== 'idle' || entry.stopping || kernel.closing) return
    if (entry.waiting.size > 0) return kernel.placement.wake(entry)
    if (openJobs(entry).length > 0) return
    if (entry.seed.worktree) void closeThenFinish(entry)
    else if (entry.seed.parent) finish(entry, { state: 'completed', text: entry.text })
    else kernel.runs.finish(entry, entry.interrupted ? 'interrupted' : 'done')
  }

  /** What comes for it meanwhile waits, and lets it go on instead. */
  async function closeThenFinish(entry: SessionEntry): Promise<void> {
    entry.stopping += 1
    await kernel.worktrees.close(entry, { completed: true })
    if (entry.waiting.size > 0 && !kernel.closing) await kernel.worktrees.reopen(entry)
    entry.stopping -= 1
    if (entry.status !== 'idle' || entry.stopping > 0 || kernel.closing) return
    if (entry.waiting.size > 0) kernel.placement.wake(entry)
    else finish(entry, { state: 'completed', text: entry.text })
  }

  async function end(entry: SessionEntry, { state, error }: EndedHow): Promise<void> {
    if (kernel.closing || entry.status === 'ended') return
    await kernel.stopping.halt(entry, async () => {
      await kernel.worktrees.close(entry, { completed: false })
      if (entry.status === 'ended') return
      const text = lastAnswer(fold(kernel.store.read(refOf(entry))))
      finish(entry, { state, text, ...(error && { error }) })
    })
    if (!entry.seed.parent) kernel.runs.finish(entry, state === 'limit' || state === 'timed_out' ? 'limit' : 'failed')
  }

  function finish(entry: SessionEntry, { state, text, error }: Pick<JobResult, 'state' | 'text' | 'error'>): void {
    const { turn: turns, generation } = entry
    const result: JobResult = {
      state,
      text: kernel.worktrees.withNote(entry, text),
      usage: usageOfTree(kernel, entry),
      turns,
      ...(error && { error: briefError(error) }),
    }
    keepUndeliverable(kernel, entry)
    kernel.record(entry, [{ type: 'session.ended', generation, result }])
    kernel.deadlines.stop(entry)
    kernel.asks.withdraw(entry)
    void kernel.processes.kill(entry.seed.session)
    if (!entry.seed.parent) return
    deliver(entry)
    kernel.launching.startNext(entry)
  }

  function deliver(child: SessionEntry, earlier?: JobResult): void {
    const parent = kernel.parentOf(child)
    const row = parent?.jobs.get(child.seed.parent?.job ?? ('' as never))
    if (!parent || !row) return
    const end = child.generation === row.generation ? child.end : earlier
    if (!end) return
    const { job, alias, agent, generation, call, background } = row
    if (parent.received.has(deliveryKey(job, generation))) return
    const result = resultForParent(end, alias, maxChars(parent, background ? 1 : parent.tools.size))
    if (parent.status === 'ended' || parent.ending > 0) {
      kernel.record(parent, [{ type: 'result.undeliverable', job, generation, result }])
      return
    }
    if (background) {
      kernel.record(parent, [
        { type: 'message.received', message: { kind: 'result', job, alias, agent, generation, result } },
      ])
    } else {
      const durationMs = 0
      const delivered = { job, generation, state: result.state }
      kernel.record(parent, [
        { type: 'call.finished', call, result: callResultOf(result, alias), durationMs, job: delivered },
      ])
    }
    kernel.waits.jobEnded(parent, alias)
    if (background ? parent.status !== 'suspended' : !awaitsAnother(parent)) kernel.placement.wake(parent)
  }

  /** Results of one message's calls are placed together, so they share the room. */
  function maxChars({ contextTokens, turnRoom }: SessionEntry, sharers: number): number {
    const max = maxResultChars[kernel.options.settings.toolset === 'compact' ? 'compact' : 'full']
    const most = contextTokens === undefined ? max : roomForText(contextTokens, max)
    return turnRoom === undefined ? most : Math.min(most, shareOfRoom(turnRoom, sharers))
  }

  return { settle, end, deliver }
}

/**
 * A session with another child in the foreground would look at its journal only to wait again; it looks at all of it before
 * it is suspended.
 */
function awaitsAnother({ jobs }: SessionEntry): boolean {
  for (const { background, delivered } of jobs.values()) if (!background && !delivered) return true
  return false
}

/** Stacks stay out of journals of parents: they are ours, not the model's. */
function briefError({ code, message }: ErrorData): ErrorData {
  return { code, message }
}
