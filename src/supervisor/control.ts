import type { CallId } from '../core/ids.ts'
import type { Fence, SupervisorApi } from '../core/messages.ts'
import type { JobResult } from '../core/records.ts'
import { resultText } from '../session/build-messages.ts'
import { deliveryKey, fold } from '../session/fold.ts'
import type { Kernel } from './kernel.ts'
import { callResultOf } from './result-for-parent.ts'
import { type ChildEntry, refOf, type SessionEntry } from './session-entry.ts'

/** What a parent, or a person in its place, does with its running children. */
export type Control = {
  /** Texts for the model; `isError` when the request was refused. */
  send(entry: SessionEntry, request: { alias: string; text: string; interrupt: boolean }): Promise<Answer>
  /** `undefined`: the call is answered later. */
  wait(entry: SessionEntry, request: { call: CallId; jobs: string[]; timeoutMs: number }): Answer | undefined
  cancel(entry: SessionEntry, request: { call: CallId; alias: string }): Answer | undefined
  /** Lets a foreground child go on in the background: its parent's call is answered now, its result comes later. */
  moveToBackground(child: SessionEntry, why: string): boolean
}

const cancelWaitMs = 60_000

export type Answer = { text: string; isError: boolean }

export function createControl(kernel: Kernel): Control {
  async function send(
    entry: SessionEntry,
    { alias, text, interrupt }: { alias: string; text: string; interrupt: boolean },
  ): Promise<Answer> {
    const row = rowNamed(entry, alias)
    const child = row && kernel.entries.get(row.job as never)
    if (!row || !child) return refused(noSuchJob(entry, alias))
    if (child.status === 'ended') {
      return refused(`${alias} has ended (${row.state ?? child.end?.state}). Continue it: task with job "${alias}".`)
    }
    if (interrupt) await kernel.stopping.interrupt(child, 'The agent that sent it interrupted it.', text)
    else kernel.say(child, text)
    if (child.end) return refused(`${alias} ended (${child.end.state}) before it could read that.`)
    const when = interrupt ? 'It stopped what it was doing and reads it now.' : 'It reads it at its next step.'
    return { text: `Sent to ${alias}. ${when}`, isError: false }
  }

  function wait(
    entry: SessionEntry,
    { call, jobs, timeoutMs }: { call: CallId; jobs: string[]; timeoutMs: number },
  ): Answer | undefined {
    const unknown = jobs.find((alias) => !rowNamed(entry, alias))
    if (unknown !== undefined) return refused(noSuchJob(entry, unknown))
    if (jobs.length === 0 && [...entry.jobs.values()].every(({ state }) => state !== undefined)) {
      return { text: 'There is nothing to wait for: no sub-agent of yours is at work.', isError: false }
    }
    const until = kernel.clock.now() + timeoutMs
    kernel.record(entry, [{ type: 'wait.started', call, jobs, until }])
    kernel.waits.open(entry, { call, jobs, until })
    return undefined
  }

  function cancel(entry: SessionEntry, { call, alias }: { call: CallId; alias: string }): Answer | undefined {
    const row = rowNamed(entry, alias)
    const child = row && kernel.entries.get(row.job as never)
    if (!row || !child) return refused(noSuchJob(entry, alias))
    if (child.status === 'ended')
      return { text: `${alias} had already ended (${row.state ?? child.end?.state}).`, isError: false }
    // Until the call is answered it waits for something outside: a crash in between answers it when the job has ended.
    kernel.record(entry, [{ type: 'wait.started', call, jobs: [alias], until: kernel.clock.now() + cancelWaitMs }])
    void finishCancel(entry, { call, row, child })
    return undefined
  }

  /** The cancelled job is delivered with the call that cancelled it, unless another call waits for it. */
  async function finishCancel(
    entry: SessionEntry,
    { call, row, child }: { call: CallId; row: ChildEntry; child: SessionEntry },
  ): Promise<void> {
    const { generation } = row
    await kernel.stopping.cancelTree(child, 'The agent that sent it cancelled it.', { deliver: false })
    const isDelivered = entry.received.has(deliveryKey(row.job, generation))
    // The turn that cancelled may have been stopped meanwhile: then the result comes as any other does.
    const isOpen = entry.status !== 'ended' && entry.ending === 0 && isOpenCall(kernel, entry, call)
    const withCall = isOpen && row.background && !isDelivered
    if (!withCall) kernel.finishing.deliver(child)
    if (!isOpen) return
    const job = { job: row.job, generation, state: child.end?.state ?? ('cancelled' as const) }
    const result = { output: describeTree(kernel, child), isError: false, how: 'ok' as const, title: row.alias }
    kernel.record(entry, [{ type: 'call.finished', call, result, durationMs: 0, ...(withCall && { job }) }])
    kernel.placement.wake(entry)
  }

  function moveToBackground(child: SessionEntry, why: string): boolean {
    const parent = kernel.parentOf(child)
    const row = child.seed.parent && parent?.jobs.get(child.seed.parent.job)
    if (!parent || !row || row.background || row.delivered || child.status === 'ended') return false
    const { job, generation, call, alias } = row
    const text = `${why} ${alias} goes on in the background; its result will come as sub_agent_result.`
    const result = callResultOf(
      { state: 'completed', text, usage: { inputTokens: 0, outputTokens: 0 }, turns: 0 },
      alias,
    )
    kernel.record(parent, [
      { type: 'job.moved', job, generation },
      { type: 'call.finished', call, result, durationMs: 0 },
    ])
    kernel.placement.wake(parent)
    return true
  }

  return { send, wait, cancel, moveToBackground }
}

/** The worker's side of it: fenced, and with the records that came of it. */
export function controlApi(
  kernel: Kernel,
  fenced: (fence: Fence) => SessionEntry,
): Pick<SupervisorApi, 'sendToChild' | 'waitForJobs' | 'cancelChild'> {
  const since = (entry: SessionEntry, lastSeq: number) => entry.recent.filter(({ seq }) => seq > lastSeq)
  return {
    async sendToChild({ alias, text, interrupt, ...fence }) {
      return kernel.control.send(fenced(fence), { alias, text, interrupt })
    },
    async waitForJobs({ lastSeq, call, jobs, timeoutMs, ...fence }) {
      const entry = fenced(fence)
      const answer = kernel.control.wait(entry, { call, jobs, timeoutMs })
      return { records: since(entry, lastSeq), ...(answer && { answer }) }
    },
    async cancelChild({ lastSeq, call, alias, ...fence }) {
      const entry = fenced(fence)
      const answer = kernel.control.cancel(entry, { call, alias })
      return { records: since(entry, lastSeq), ...(answer && { answer }) }
    },
  }
}

function isOpenCall({ store }: Kernel, entry: SessionEntry, id: CallId): boolean {
  return fold(store.read(refOf(entry))).calls.some((call) => call.id === id && !call.result)
}

/** What a child and those under it had when they were stopped. */
function describeTree(kernel: Kernel, child: SessionEntry): string {
  const blocks = kernel.treeOf(child).map((one) => {
    const name = `${one.seed.parent?.alias} (${one.seed.agent.name})`
    return `${name}: ${one.end ? brief(one.end) : 'stopped'}`
  })
  return blocks.join('\n\n')
}

function brief(end: JobResult): string {
  const text = resultText(end)
  return text.length > 4000 ? `${text.slice(0, 4000).replace(/[\ud800-\udbff]$/, '')}…` : text
}

function rowNamed(entry: SessionEntry, alias: string): ChildEntry | undefined {
  return [...entry.jobs.values()].find((row) => row.alias === alias)
}

function noSuchJob(entry: SessionEntry, alias: string): string {
  const known = [...entry.jobs.values()].map((row) => row.alias).join(', ')
  return `You have no sub-agent "${alias}". Yours: ${known || 'none yet'}.`
}

function refused(text: string): Answer {
  return { text, isError: true }
}
