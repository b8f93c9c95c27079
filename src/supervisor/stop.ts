import type { JobResult } from '../core/records.ts'
import { fold } from '../session/fold.ts'
import { lastAnswer } from '../session/next-step.ts'
import type { Kernel } from './kernel.ts'
import { refOf, type SessionEntry } from './session-entry.ts'
import { keepUndeliverable } from './undeliverable.ts'
import { usageOfTree } from './usage.ts'

/** The ways to stop; none of them starts a turn of a parent. */
export type Stopping = {
  /** Stops the present turn of a session; jobs in the background go on, foreground ones move there. */
  interrupt(entry: SessionEntry, reason: string, message?: string): Promise<void>
  /** Stops a session and all under it. The root stays usable; children end as `cancelled`. */
  cancelTree(entry: SessionEntry, reason: string, options?: { deliver?: boolean }): Promise<void>
  /** Takes a session that is about to end from its worker, cancels everything under it, then lets `finish` end it. */
  halt(entry: SessionEntry, finish: () => Promise<void>): Promise<void>
}

/** How long a worker may take to give a cancelled session back before it is fenced off. */
const patienceMs = 3000

export function createStopping(kernel: Kernel): Stopping {
  async function interrupt(entry: SessionEntry, reason: string, message?: string): Promise<void> {
    if (entry.ending > 0 || isOver(entry)) return
    entry.stopping += 1
    try {
      moveForeground(entry)
      await takeBack(entry)
      if (!isOver(entry)) kernel.record(entry, [{ type: 'turn.interrupted', turn: entry.turn, reason }])
    } finally {
      entry.stopping -= 1
    }
    if (isOver(entry)) return
    if (message !== undefined) kernel.say(entry, message)
    else kernel.finishing.settle(entry)
  }

  async function cancelTree(entry: SessionEntry, reason: string, { deliver = true } = {}): Promise<void> {
    const tree = kernel.treeOf(entry).filter((one) => !isOver(one))
    await whileEnding(tree, async () => {
      await Promise.all(tree.map(takeBack))
      await Promise.all(tree.map((one) => kernel.worktrees.close(one, { completed: false })))
      for (const one of tree.toReversed()) closeOne(one, deliver && one === entry, reason)
    })
  }

  /** Several stops of one session may overlap: whichever comes first ends it, the others find it over. */
  async function whileEnding(sessions: SessionEntry[], stop: () => Promise<void>): Promise<void> {
    for (const one of sessions) {
      one.stopping += 1
      one.ending += 1
    }
    try {
      await stop()
    } finally {
      for (const one of sessions) {
        one.stopping -= 1
        one.ending -= 1
      }
    }
  }

  /** The session runs nowhere any more: its worker gave it back or is fenced off, its tool processes are gone. */
  async function takeBack(entry: SessionEntry): Promise<void> {
    kernel.asks.withdraw(entry)
    kernel.waits.drop(entry)
    if (entry.status === 'active') {
      const given = kernel.placement.inactive(entry)
      if (entry.worker) kernel.host.cancel(entry.worker, { session: entry.seed.session, epoch: entry.epoch })
      await Promise.race([given, patience()])
      if (entry.status === 'active') fenceOff(entry)
    }
    // Also when it was handed back as suspended while it was being stopped: nothing would ever wake it.
    if (!isOver(entry)) entry.status = 'idle'
    await kernel.processes.kill(entry.seed.session)
    // What its worker may still have begun on the way.
    kernel.asks.withdraw(entry)
    kernel.waits.drop(entry)
  }

  /** The worker did not answer: from now on its epoch is an old one. Its locks go with the worker. */
  function fenceOff(entry: SessionEntry): void {
    kernel.partials.flush(entry.seed.session)
    if (entry.worker) kernel.host.abandon(entry.worker, { session: entry.seed.session, epoch: entry.epoch })
    entry.epoch += 1
    entry.status = 'idle'
    entry.worker = undefined
    entry.recent = []
  }

  function patience(): Promise<void> {
    return new Promise((resolve) => kernel.clock.after(patienceMs, resolve))
  }

  function closeOne(entry: SessionEntry, deliver: boolean, reason: string): void {
    if (isOver(entry)) return
    keepUndeliverable(kernel, entry)
    if (entry.seed.parent) endCancelled(entry, reason, deliver)
    else kernel.record(entry, [{ type: 'turn.interrupted', turn: entry.turn, reason }])
  }

  function endCancelled(entry: SessionEntry, reason: string, deliver: boolean): void {
    const text = kernel.worktrees.withNote(entry, lastAnswer(fold(kernel.store.read(refOf(entry)))))
    const { turn: turns, generation } = entry
    const error = { code: 'cancelled', message: reason }
    const result: JobResult = { state: 'cancelled', text, error, usage: usageOfTree(kernel, entry), turns }
    kernel.record(entry, [{ type: 'session.ended', generation, result }])
    kernel.deadlines.stop(entry)
    if (deliver) kernel.finishing.deliver(entry)
    kernel.launching.startNext(entry)
  }

  function moveForeground(entry: SessionEntry): void {
    for (const child of kernel.childrenOf(entry)) kernel.control.moveToBackground(child, 'This turn was stopped.')
  }

  return {
    interrupt,
    cancelTree,
    halt(entry, finish) {
      return whileEnding([entry], async () => {
        const running = kernel.childrenOf(entry).filter((child) => !isOver(child))
        const cancelled = running.map((child) => cancelTree(child, 'The agent that sent it has ended.'))
        await Promise.all([takeBack(entry), ...cancelled])
        if (!isOver(entry)) await finish()
      })
    },
  }
}

function isOver({ status }: SessionEntry): boolean {
  return status === 'ended'
}
