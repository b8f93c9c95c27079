import { roomForResults } from '../core/context-room.ts'
import { toErrorData } from '../core/errors.ts'
import type { EventBody } from '../core/events.ts'
import type { ActivationEnd, ActivationTask, Appended, AppendRequest, Fence, SupervisorApi } from '../core/messages.ts'
import type { JournalRecord, LimitReached, RecordBody, SessionSeed } from '../core/records.ts'
import type { SessionState } from '../core/state.ts'
import { applyRecord } from '../session/fold.ts'
import { limitsOf } from '../session/limits.ts'
import { lastAnswer, nextStep, type Step, type StepContext } from '../session/next-step.ts'
import { lastTurnNotice, withNotices } from '../session/notices.ts'
import { createRegistry, type ToolRegistry } from '../tools/registry.ts'
import { chooseToolset } from '../tools/toolsets.ts'
import { abortable } from './abortable.ts'
import { budgetOf } from './context-budget.ts'
import { findChangedFiles } from './find-changed-files.ts'
import type { LiveSink } from './live-sink.ts'
import { requestReply } from './request-reply.ts'
import { createCallRunner, type FinishedCall } from './run-call.ts'

/** What connects an activation with its supervisor. */
export type ActivationLink = {
  api: SupervisorApi
  live: LiveSink
  /** Aborted when the session is cancelled. */
  signal: AbortSignal
  /** Registers what is called when there are records that this activation has not seen. */
  onPoke(listener: () => void): void
}

/** An activation's shared parts: the session's state and the only way to change it. */
export type Activation = {
  task: ActivationTask
  fence: Fence
  seed: SessionSeed
  link: ActivationLink
  registry: ToolRegistry
  append(
    records: RecordBody[],
    options?: Pick<AppendRequest, 'sync' | 'board' | 'slot' | 'release' | 'resultRoom' | 'turnRoom' | 'found'>,
  ): Promise<Appended>
  absorb(reply: Pick<Appended, 'records'>): void
  emit(event: EventBody): void
  /** A bound of the whole run that has been reached. */
  exhausted?: LimitReached
}

/** Runs a session until it is idle, suspended or over. Rejects never. */
export async function runActivation(task: ActivationTask, link: ActivationLink): Promise<ActivationEnd> {
  try {
    return await createLoop(await openActivation(task, link))()
  } catch (thrown) {
    const error = toErrorData(thrown)
    if (link.signal.aborted || error.code === 'fenced') return { outcome: 'cancelled' }
    return { outcome: 'crashed', error }
  }
}

async function openActivation(task: ActivationTask, link: ActivationLink): Promise<Activation> {
  const { state, settings, session, epoch, spawnable, skills } = task
  const born = state.seed
  if (!born) throw new Error(`session ${session} has no first record`)
  const seed = task.agent ? { ...born, agent: task.agent } : born
  const { agent, depth } = seed
  const toolset = chooseToolset(agent.toolset, settings.toolset, task.model.profile.parameters)
  const registry = createRegistry({
    agent,
    depth,
    settings,
    toolset,
    spawnable,
    skills,
    hasJobs: state.jobs.length > 0,
  })
  const fence = { session, epoch }
  const absorb = ({ records }: Pick<Appended, 'records'>) => {
    for (const record of records) applyRecord(state, record)
  }
  const activation: Activation = {
    exhausted: task.exhausted,
    task,
    fence,
    seed,
    link,
    registry,
    absorb,
    emit: (event) => link.live.emit(fence, event),
    async append(records, options = {}) {
      const request = link.api.append({ ...fence, lastSeq: state.lastSeq, records, ...options })
      const reply = await (options.slot ? abortable(request, link.signal) : request)
      absorb({ records: withOwn(reply, records) })
      activation.exhausted ??= reply.exhausted
      return reply
    },
  }
  return activation
}

/** What is new, in order: the supervisor does not send back what it was sent. */
function withOwn({ records, own }: Appended, sent: RecordBody[]): JournalRecord[] {
  if (!own) return records
  const known = new Set(records.map(({ seq }) => seq))
  const mine = sent.map((body, n): JournalRecord => ({ ...body, seq: own.from + n, at: own.at }))
  return [...records, ...mine.filter(({ seq }) => !known.has(seq))].sort((a, b) => a.seq - b.seq)
}

function createLoop(activation: Activation): () => Promise<ActivationEnd> {
  const { task, link, registry, seed, append } = activation
  const { state } = task
  const { signal } = link
  const changes = createChanges(signal)
  const runner = createCallRunner(activation, { notify: changes.notify, finish: finishCall })
  const context: StepContext = {
    running: runner.running,
    isWriting: (tool: string) => registry.find(tool)?.effect === 'write',
    resultRoom: roomForResults(task.model.profile.contextTokens, budgetOf(activation)),
    limits: limitsOf(task.limits ?? {}, seed.limits, seed.agent.limits, task.settings.limits),
  }
  /** Of the turn that was opened: the job board's text. Its slot is held. */
  let board: string | undefined
  let opening: Promise<void> | undefined
  let notices: string[] = state.final ? [lastTurnNotice(state.final)] : []
  link.onPoke(() => changes.notify('poke'))

  return async function loop() {
    for (;;) {
      if (signal.aborted) return runner.settled().then(() => ({ outcome: 'cancelled' }))
      runner.rethrow()
      const end = await take(next(state))
      if (end) return end
    }
  }

  async function take(step: Step): Promise<ActivationEnd | undefined> {
    switch (step.do) {
      case 'open-turn':
        await openTurn(step)
        return undefined
      case 'request': {
        await opening
        const text = withNotices(board ?? (await reopenTurn()), notices)
        board = undefined
        return requestReply(activation, text)
      }
      case 'run':
        runner.start(step.calls)
        return undefined
      case 'wait':
        if ((await changes.next()) === 'poke') await append([])
        return undefined
      case 'suspend':
        return handBack('waiting', step.waitingFor)
      case 'idle':
        return handBack('idle', [])
      case 'ended':
        return { outcome: 'ended' }
      case 'limit':
        return { outcome: 'limit', limit: step.limit, value: step.value }
    }
  }

  function next(of: SessionState): Step {
    return nextStep(of, { ...context, exhausted: activation.exhausted })
  }

  /** The last open call's result and the start of the next turn go in one piece. */
  async function finishCall(finished: FinishedCall): Promise<void> {
    const step = signal.aborted ? undefined : next(withResult(state, finished))
    if (step?.do === 'open-turn') await openTurn(step, [finished])
    else await append([finished])
  }

  async function openTurn(step: Extract<Step, { do: 'open-turn' }>, before: RecordBody[] = []): Promise<void> {
    const { consumed, room, final, loop } = step
    const { epoch, slot } = task
    const turn = state.turn + 1
    const started: RecordBody = { type: 'turn.started', turn, consumed, epoch, final, warned: loop?.signature }
    notices = [...(final ? [lastTurnNotice(final)] : []), ...(loop ? [loop.text] : [])]
    const found = findChangedFiles(state.files)
    const rooms = { resultRoom: room, turnRoom: context.resultRoom }
    opening = append([...before, started], { board: true, slot, found, ...rooms }).then((reply) => {
      board = reply.board ?? ''
    })
    await opening
  }

  /** A turn that an earlier activation started. */
  async function reopenTurn(): Promise<string> {
    const found = findChangedFiles(state.files)
    return (await append([], { board: true, slot: task.slot, found })).board ?? ''
  }

  async function handBack(why: 'idle' | 'waiting', waitingFor: string[]): Promise<ActivationEnd | undefined> {
    link.live.flush()
    const text = why === 'idle' ? lastAnswer(state) : ''
    const reply = await link.api.suspend({ ...activation.fence, lastSeq: state.lastSeq, why, waitingFor, text })
    if (reply.accepted) return { outcome: why === 'idle' ? 'idle' : 'suspended' }
    activation.absorb(reply)
    return undefined
  }
}

/** The state as it will be once this call is answered. */
function withResult(state: SessionState, { call, result }: FinishedCall): SessionState {
  return { ...state, calls: state.calls.map((open) => (open.id === call ? { ...open, result } : open)) }
}

/** What wakes a waiting loop: a call that ended, or a poke. Remembers what came while nobody waited. */
function createChanges(signal: AbortSignal) {
  let pending: 'call' | 'poke' | undefined
  let wake: (() => void) | undefined
  const notify = (what: 'call' | 'poke') => {
    if (pending !== 'poke') pending = what
    wake?.()
  }
  return {
    notify,
    async next(): Promise<'call' | 'poke'> {
      if (!pending) {
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        await abortable(woken, signal).catch(() => undefined)
      }
      const what = pending ?? 'call'
      pending = undefined
      return what
    },
  }
}
