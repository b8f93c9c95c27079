import type { CallId } from '../core/ids.ts'
import type { Kernel } from './kernel.ts'
import type { SessionEntry } from './session-entry.ts'

/** Calls of `task_wait`: suspended like an ask, answered by the first thing that happens. */
export type Waits = {
  /** Begins to wait, or goes on after a restart; answers at once if there is nothing to wait for. */
  open(entry: SessionEntry, wait: OpenWait): void
  /** A job of this session has ended. */
  jobEnded(entry: SessionEntry, alias: string): void
  /** The user, or the session's parent, has written to it. */
  written(entry: SessionEntry): void
  drop(entry: SessionEntry): void
  close(): void
}

/** `until` is wall clock, in milliseconds; no named job means any. */
export type OpenWait = { call: CallId; jobs: string[]; until: number }

export function createWaits(kernel: Kernel): Waits {
  const open = new Map<SessionEntry, (OpenWait & { cancel: () => void })[]>()

  function answer(entry: SessionEntry, wait: OpenWait, why: string): void {
    const rest = (open.get(entry) ?? []).filter(({ call }) => call !== wait.call)
    if (rest.length > 0) open.set(entry, rest)
    else open.delete(entry)
    const output = [why, ...stateLines(entry, wait.jobs)].join('\n')
    kernel.record(entry, [
      { type: 'call.finished', call: wait.call, result: { output, isError: false, how: 'ok' }, durationMs: 0 },
    ])
    kernel.placement.wake(entry)
  }

  function take(entry: SessionEntry, matches: (wait: OpenWait) => boolean, why: string): void {
    for (const wait of open.get(entry) ?? []) {
      if (!matches(wait)) continue
      wait.cancel()
      answer(entry, wait, why)
    }
  }

  return {
    open(entry, wait) {
      const leftMs = Math.max(0, wait.until - kernel.clock.now())
      const cancel = kernel.clock.after(leftMs, () => answer(entry, wait, 'The time is over.'))
      open.set(entry, [...(open.get(entry) ?? []), { ...wait, cancel }])
      const ended = [...entry.jobs.values()].find(
        ({ alias, state }) => state !== undefined && wait.jobs.includes(alias),
      )
      if (ended) take(entry, ({ call }) => call === wait.call, `${ended.alias} has ended.`)
      else if (entry.waiting.size > 0) take(entry, ({ call }) => call === wait.call, 'A message has come.')
    },
    jobEnded(entry, alias) {
      take(entry, ({ jobs }) => jobs.length === 0 || jobs.includes(alias), `${alias} has ended.`)
    },
    written(entry) {
      take(entry, () => true, 'A message has come.')
    },
    drop(entry) {
      for (const wait of open.get(entry) ?? []) wait.cancel()
      open.delete(entry)
    },
    close() {
      for (const entry of [...open.keys()]) this.drop(entry)
    },
  }
}

function stateLines(entry: SessionEntry, aliases: string[]): string[] {
  const shown = [...entry.jobs.values()].filter(({ alias }) => aliases.length === 0 || aliases.includes(alias))
  return shown.map(({ alias, agent, state }) => `- ${alias} (${agent}): ${state ?? 'still at work'}`)
}
