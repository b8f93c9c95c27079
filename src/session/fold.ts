import { unreachable } from '../core/errors.ts'
import type { CallId } from '../core/ids.ts'
import type { CallResult, FileTouch, JournalRecord, Message } from '../core/records.ts'
import type { ChildJob, OpenCall, SessionState } from '../core/state.ts'

/** The state of a session that has no records yet. */
export function emptyState(): SessionState {
  return {
    lastSeq: 0,
    turn: 0,
    phase: 'idle',
    generation: 1,
    epoch: 0,
    history: [],
    mailbox: [],
    calls: [],
    jobs: [],
    received: [],
    files: {},
    todos: [],
    grants: [],
    usage: { inputTokens: 0, outputTokens: 0 },
    base: { turn: 0, tokens: 0 },
  }
}

/** The state after these records, oldest first. Never throws: a record that does not fit changes nothing but `lastSeq`. */
export function fold(records: Iterable<JournalRecord>, state: SessionState = emptyState()): SessionState {
  for (const record of records) applyRecord(state, record)
  return state
}

/** Adds one record to a state that the caller owns, in place. Records already folded (by seq) are skipped. */
export function applyRecord(state: SessionState, record: JournalRecord): void {
  if (record.seq <= state.lastSeq) return
  state.lastSeq = record.seq
  switch (record.type) {
    case 'session.created':
      state.seed ??= record.seed
      return
    case 'message.received':
      return receive(state, record.seq, record.message)
    case 'turn.started':
      return startTurn(state, record)
    case 'turn.partial':
      if (isRequesting(state, record.turn)) state.partial = record.text
      return
    case 'assistant.message':
      return addAssistant(state, record)
    case 'turn.failed':
      return failTurn(state, record)
    case 'turn.interrupted':
      return interruptTurn(state, record.seq)
    case 'call.started':
      return withCall(state, record.call, (call) => {
        call.started = true
      })
    case 'call.finished':
      return finishCall(state, record)
    case 'ask.requested':
      return withCall(state, record.call, (call) => {
        const { id, kind, title, detail, key, pattern, grant, basis, argsHash } = record
        const known = { ...(grant && { grant }), ...(basis && { basis }), ...(argsHash && { argsHash }) }
        call.ask = { id, kind, title, detail, key, pattern, ...known }
      })
    case 'ask.resolved':
      return withCall(state, record.call, (call) => {
        if (call.ask?.id !== record.id || call.ask.answer) return
        call.ask.answer = record.answer
        call.ask.by = record.by
      })
    case 'grant.added':
      state.grants.push(record.rule)
      return
    case 'job.launched':
      return launchJob(state, record)
    case 'wait.started':
      return withCall(state, record.call, (call) => {
        call.wait = { jobs: record.jobs, until: record.until }
      })
    case 'job.moved':
      return moveJob(state, record)
    case 'session.ended':
      return endSession(state, record)
    case 'result.undeliverable':
      return keepForPeople(state, record)
    case 'history.compacted':
      return compact(state, record)
    default:
      return unreachable(record)
  }
}

/** The key of delivery. */
export function deliveryKey(job: string, generation: number): string {
  return `${job}#${generation}`
}

type Of<Type extends JournalRecord['type']> = Extract<JournalRecord, { type: Type }>

function receive(state: SessionState, seq: number, message: Message): void {
  if (message.kind === 'result') {
    const key = deliveryKey(message.job, message.generation)
    if (state.received.includes(key)) return
    state.received.push(key)
  } else {
    if (state.phase === 'ended') reopen(state)
    if (isAtRest(state)) countFromHere(state)
    know(state, message.files)
  }
  state.mailbox.push({ seq, message })
}

/** A user's message continues a session that was over: a new generation of it. */
function reopen(state: SessionState): void {
  state.phase = 'idle'
  state.generation += 1
  state.ended = undefined
  countFromHere(state)
}

/** A root that has done what it was asked: the next message begins new work. */
function isAtRest({ phase, calls, mailbox, seed }: SessionState): boolean {
  return phase === 'idle' && calls.length === 0 && mailbox.length === 0 && seed?.depth === 0
}

function countFromHere(state: SessionState): void {
  const { inputTokens, outputTokens } = state.usage
  state.base = { turn: state.turn, tokens: inputTokens + outputTokens }
  state.final = undefined
  state.warned = undefined
}

function startTurn(state: SessionState, { seq, turn, consumed, epoch, final, warned }: Of<'turn.started'>): void {
  if (state.phase === 'ended') return
  placeResults(state, seq)
  placeMessages(state, seq, new Set(consumed))
  state.turn = turn
  state.epoch = Math.max(state.epoch, epoch)
  state.phase = 'requesting'
  state.partial = undefined
  state.failure = undefined
  state.final = final
  state.warned = warned ?? state.warned
}

/** Results in call order; a call that has none by now was cut off. */
function placeResults(state: SessionState, seq: number): void {
  for (const call of state.calls) {
    state.history.push({ kind: 'result', seq, call: call.id, tool: call.tool, result: call.result ?? cutOff(call) })
  }
  state.calls = []
}

function cutOff(call: OpenCall): CallResult {
  if (call.started) {
    const output = 'This call was interrupted while it ran; its effect is unknown. Look before you repeat it.'
    return { output, isError: true, how: 'interrupted' }
  }
  return { output: 'This call was cancelled before it started.', isError: true, how: 'cancelled' }
}

/** Sub-agent results by seq, then user texts by seq. */
function placeMessages(state: SessionState, placedBy: number, consumed: Set<number>): void {
  const taken = state.mailbox.filter(({ seq }) => consumed.has(seq))
  state.mailbox = state.mailbox.filter(({ seq }) => !consumed.has(seq))
  for (const { message } of taken) {
    if (message.kind !== 'result') continue
    const { job, alias, agent, generation, result } = message
    state.history.push({ kind: 'sub-agent-result', seq: placedBy, job, alias, agent, generation, result })
    markDelivered(state, job, generation, result.state)
  }
  for (const { message } of taken) {
    if (message.kind === 'user') state.history.push({ kind: 'user', seq: placedBy, text: message.text })
  }
}

function isRequesting(state: SessionState, turn: number): boolean {
  return state.phase === 'requesting' && state.turn === turn
}

function addAssistant(state: SessionState, record: Of<'assistant.message'>): void {
  if (!isRequesting(state, record.turn)) return
  const { seq, turn, text, thinking, calls, usage } = record
  state.history.push({ kind: 'assistant', seq, turn, text, ...(thinking && { thinking }), calls })
  state.calls = calls.map((call) => ({ ...call, started: false }))
  state.usage.inputTokens += usage.inputTokens
  state.usage.outputTokens += usage.outputTokens
  state.measured = { tokens: usage.inputTokens + usage.outputTokens, items: state.history.length }
  state.phase = calls.length > 0 ? 'calls' : 'idle'
  state.partial = undefined
}

function failTurn(state: SessionState, { seq, turn, error }: Of<'turn.failed'>): void {
  if (!isRequesting(state, turn)) return
  keepPartial(state, seq)
  state.phase = 'idle'
  state.failure = { code: error.code, message: error.message }
}

function interruptTurn(state: SessionState, seq: number): void {
  if (state.phase === 'ended') return
  placeResults(state, seq)
  keepPartial(state, seq)
  state.phase = 'idle'
}

/** What a reply had said when it was cut off stays in history, marked. */
function keepPartial(state: SessionState, seq: number): void {
  if (state.phase !== 'requesting' || !state.partial) return
  const text = `${state.partial}\n[interrupted here]`
  state.history.push({ kind: 'assistant', seq, turn: state.turn, text, calls: [] })
  state.partial = undefined
}

function withCall(state: SessionState, id: CallId, change: (call: OpenCall) => void): void {
  const call = findCall(state, id)
  if (call && !call.result) change(call)
}

/** A message may have a thousand calls: the n-th is looked for in its place first. */
function findCall({ calls }: SessionState, id: CallId): OpenCall | undefined {
  const inPlace = calls[Number(id.slice(id.indexOf('.') + 1)) - 1]
  return inPlace?.id === id ? inPlace : calls.find((open) => open.id === id)
}

function finishCall(state: SessionState, { call, result, job }: Of<'call.finished'>): void {
  withCall(state, call, (open) => {
    open.result = result
    know(state, result.touched)
    if (result.todos) state.todos = result.todos
  })
  if (!job) return
  state.received.push(deliveryKey(job.job, job.generation))
  markDelivered(state, job.job, job.generation, job.state)
}

function know(state: SessionState, files: FileTouch[] | undefined): void {
  for (const { path, hash } of files ?? []) state.files[path] = hash
}

function launchJob(state: SessionState, record: Of<'job.launched'>): void {
  const { job, alias, generation, call, background, seed } = record
  const child: ChildJob = { job, alias, agent: seed.agent.name, generation, call, background, delivered: false }
  const known = state.jobs.findIndex((other) => other.job === job)
  if (known >= 0) state.jobs[known] = child
  else state.jobs.push(child)
  if (background) return
  withCall(state, call, (open) => {
    open.job = { job, generation }
  })
}

function moveJob(state: SessionState, { job, generation }: Of<'job.moved'>): void {
  const child = findJob(state, job, generation)
  if (!child) return
  child.background = true
  withCall(state, child.call, (open) => {
    open.job = undefined
  })
}

function markDelivered(state: SessionState, job: string, generation: number, end: ChildJob['state']): void {
  const child = findJob(state, job, generation)
  if (!child) return
  child.delivered = true
  child.state = end
}

/** A result that had come and was not placed is placed no more. */
function keepForPeople(state: SessionState, { job, generation, result }: Of<'result.undeliverable'>): void {
  state.mailbox = state.mailbox.filter(
    ({ message }) => message.kind !== 'result' || message.job !== job || message.generation !== generation,
  )
  markDelivered(state, job, generation, result.state)
}

function findJob(state: SessionState, job: string, generation: number): ChildJob | undefined {
  return state.jobs.find((child) => child.job === job && child.generation === generation)
}

function endSession(state: SessionState, { seq, generation, result }: Of<'session.ended'>): void {
  if (generation !== state.generation || state.phase === 'ended') return
  interruptTurn(state, seq)
  state.phase = 'ended'
  state.ended = { generation, result, state: result.state }
}

/** Only made with no call open. The first user message, the task, stays as it is; everything else (delivery keys, hashes, counts) stays as it is. */
function compact(state: SessionState, { uptoSeq, summary }: Of<'history.compacted'>): void {
  if (state.calls.length > 0) return
  const first = state.history.find((item) => item.kind === 'user')
  const rest = state.history.filter((item) => item.seq > uptoSeq && item !== first)
  state.history = [...(first ? [first] : []), { kind: 'summary', seq: uptoSeq, text: summary }, ...rest]
  state.measured = undefined
}
