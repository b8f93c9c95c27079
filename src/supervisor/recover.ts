import { RuntimeError } from '../core/errors.ts'
import type { SessionId } from '../core/ids.ts'
import type { CallResult, JournalRecord } from '../core/records.ts'
import type { OpenCall, SessionState } from '../core/state.ts'
import { changesOf } from '../jobboard/changes-of.ts'
import { fold } from '../session/fold.ts'
import { lastAnswer, nextStep, waitsOutside } from '../session/next-step.ts'
import { journalPath } from '../store/layout.ts'
import { entryFromRecords, type Kernel } from './kernel.ts'
import { repairTree } from './repair.ts'
import { refOf, type SessionEntry } from './session-entry.ts'

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
  // All are read before anything is written: one that a newer version wrote refuses the whole tree, untouched.
  const journals = kernel.store.sessionsOf(root).map((session) => kernel.store.read({ root, session }))
  for (const records of journals) loadSession(kernel, records)
  for (const entry of kernel.entries.values()) if (entry.seed.root === root) reportOrphan(kernel, entry)
  return kernel.entries.get(root)
}

/** A child of whose launch its parent's journal has lost the record: nobody waits for it, so it is not continued. */
function reportOrphan(kernel: Kernel, entry: SessionEntry): void {
  const { parent, session } = entry.seed
  if (!parent || kernel.parentOf(entry)?.jobs.has(parent.job)) return
  const message = `Its parent ${parent.session} does not know of job ${parent.alias} any more: the record of its launch is lost. It is not continued; read what it did: troupe show ${session}`
  kernel.emit(entry, { type: 'journal.damaged', path: journalPath(kernel.store.dataDir, refOf(entry)), message })
}

function loadSession(kernel: Kernel, records: JournalRecord[]): void {
  const entry = entryFromRecords(records)
  if (!entry) return
  const ref = refOf(entry)
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

const goOnText = 'Go on where you stopped.'

/**
 * What a resumed root is told when the user says nothing: a word if it was stopped or has failed, nothing if something
 * is open or all is done. Throws for a session whose first message was never written.
 */
export function textToGoOn(kernel: Kernel, root: SessionEntry): string | undefined {
  if (root.turn === 0 && root.waiting.size === 0) {
    const { session } = root.seed
    const message = `Session ${session} was cut off before its prompt was written. Say what to do: troupe resume ${session} "prompt"`
    throw new RuntimeError('bad-usage', message)
  }
  if (root.waiting.size > 0) return undefined
  const records = kernel.store.read(refOf(root))
  const wasStopped = records.findLast(opensOrEndsTurn)?.type === 'turn.interrupted'
  return wasStopped || root.status === 'ended' || fold(records).failure ? goOnText : undefined
}

function opensOrEndsTurn({ type }: JournalRecord): boolean {
  return type === 'turn.started' || type === 'turn.interrupted'
}

/** Goes on where the tree was: what a crash left undone is done, results are handed on, asks put again, sessions activated. */
export function continueTree(kernel: Kernel, root: SessionEntry): void {
  repairTree(kernel, root)
  const tree = kernel.treeOf(root).toReversed()
  // Before any question is put again: it stops the clocks of those above it too.
  for (const entry of tree) kernel.launching.readmit(entry)
  for (const entry of tree) continueSession(kernel, entry)
}

function continueSession(kernel: Kernel, entry: SessionEntry): void {
  deliverEnds(kernel, entry)
  if (entry.status === 'ended') return
  const records = kernel.store.read(refOf(entry))
  const state = fold(records)
  for (const call of state.calls) {
    askAgain(kernel, entry, call, records)
    if (call.wait && !call.result) kernel.waits.open(entry, { call: call.id, ...call.wait })
  }
  // A child's result or an answer may have woken it already.
  if (entry.status === 'idle') goOn(kernel, entry, state)
}

/** Its end, or that of an earlier generation, if its parent has lost it or never heard of it. */
function deliverEnds(kernel: Kernel, entry: SessionEntry): void {
  const row = entry.seed.parent && kernel.parentOf(entry)?.jobs.get(entry.seed.parent.job)
  if (!row || row.delivered) return
  if (row.generation === entry.generation) return kernel.finishing.deliver(entry)
  const ends = kernel.store.read(refOf(entry)).filter((record) => record.type === 'session.ended')
  const end = ends.find(({ generation }) => generation === row.generation)
  if (end) kernel.finishing.deliver(entry, end.result)
}

function goOn(kernel: Kernel, entry: SessionEntry, state: SessionState): void {
  if (state.failure && entry.seed.parent) {
    return void kernel.finishing.end(entry, { state: 'failed', error: state.failure })
  }
  if (hasWork(state)) kernel.placement.wake(entry)
  else if (state.calls.some((call) => !call.result)) entry.status = 'suspended'
  else kernel.finishing.settle(entry)
}

function askAgain(kernel: Kernel, entry: SessionEntry, call: OpenCall, records: JournalRecord[]): void {
  if (call.result || !call.ask || call.ask.answer) return
  const asked = records.findLast((record) => record.type === 'ask.requested' && record.id === call.ask?.id)
  if (asked?.type === 'ask.requested') kernel.asks.open(entry, asked)
}

function hasWork(state: SessionState): boolean {
  const step = nextStep(state, {
    running: new Set(),
    isWriting: () => false,
    limits: { maxTurns: Number.POSITIVE_INFINITY },
  })
  if (step.do === 'suspend') return false
  if (step.do === 'run') return step.calls.some((call) => !waitsOutside(call))
  return step.do !== 'idle' && step.do !== 'ended'
}
