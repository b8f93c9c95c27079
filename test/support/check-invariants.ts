import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/core/clock.ts'
import type { SessionId } from '../../src/core/ids.ts'
import type { ModelMessage } from '../../src/core/model.ts'
import type { JournalRecord } from '../../src/core/records.ts'
import type { ChildJob, SessionState } from '../../src/core/state.ts'
import { listJobs } from '../../src/index.ts'
import { buildMessages } from '../../src/session/build-messages.ts'
import { fold } from '../../src/session/fold.ts'
import { createStore } from '../../src/store/create-store.ts'
import { findProcesses } from '../../src/supervisor/process-tree.ts'

/** A root session whose run is over. */
export type RunToCheck = {
  dataDir: string
  root: string
  /** Every program that worked on it, the killed ones too. */
  pids?: number[]
  /** A file to which each command `echo TOKEN >> FILE` of the script appends a token of its own. */
  tokenFile?: string
  /** Sessions whose whole journal was taken away: their parents alone know of them. */
  lost?: string[]
  /** What the last program said of the jobs in `run.finished`. */
  jobs?: { alias: string; generation: number; state: string; delivered: boolean }[]
}

type Journal = { session: string; records: JournalRecord[]; state: SessionState }

/**
 * What must hold after every fault, from the journals alone (I1-I5 and I7 of the fault list). Throws one error that
 * lists everything that does not.
 */
export async function checkInvariants(run: RunToCheck): Promise<void> {
  const damages: string[] = []
  const journals = readJournals(run, damages)
  const problems = [
    ...journals.flatMap((journal) => [
      ...deliveryProblems(journal, journals, run.lost),
      ...callProblems(journal),
      ...historyProblems(journal.state).map((problem) => `${journal.session}: ${problem}`),
      ...seqProblems(journal),
    ]),
    ...(await appendProblems(run, journals, damages)),
    ...processProblems(run),
    ...tokenProblems(run, journals),
    ...viewProblems(run, journals),
    ...damages.map((damage) => `I4: ${damage}`),
  ]
  if (problems.length > 0) throw new Error(`${problems.join('\n')}\n\n${describeJournals(run)}`)
}

/** The journals of a tree, one line a record, for whoever has to find out what went wrong. */
export function describeJournals({ dataDir, root }: Pick<RunToCheck, 'dataDir' | 'root'>): string {
  const lines = readJournals({ dataDir, root }).flatMap(({ session, records }) =>
    records.map((record) => ({ at: record.at, line: `${session} ${JSON.stringify(shortened(record))}` })),
  )
  return lines
    .sort((a, b) => a.at - b.at)
    .map(({ line }) => line.slice(0, 300))
    .join('\n')
}

function shortened({ at: _at, ...record }: JournalRecord): object {
  return Object.fromEntries(Object.entries(record).filter(([key]) => key !== 'seed'))
}

function readJournals({ dataDir, root }: Pick<RunToCheck, 'dataDir' | 'root'>, damages: string[] = []): Journal[] {
  const store = openStore(dataDir, damages)
  return store.sessionsOf(root as SessionId).map((session) => {
    const records = store.read({ root: root as SessionId, session })
    return { session, records, state: fold(records) }
  })
}

function openStore(dataDir: string, damages: string[]) {
  return createStore({ dataDir, clock: systemClock, onDamage: ({ message }) => void damages.push(message) })
}

/** I1: each (job, generation) ended once, and its parent's journal places its result once. */
function deliveryProblems({ session, records }: Journal, journals: Journal[], lost: string[] = []): string[] {
  return records.flatMap((record) => {
    if (record.type !== 'job.launched') return []
    const { job, generation } = record
    const name = `I1: ${session}: job ${job}#${generation}`
    const ends = ofSession(journals, job).filter((other) => isEnd(other) && other.generation === generation).length
    const deliveries = countDeliveries(records, job, generation)
    return [
      ...(ends === 1 || lost.includes(job) ? [] : [`${name} has ${ends} ends`]),
      ...(deliveries === 1 ? [] : [`${name} was delivered ${deliveries} times`]),
    ]
  })
}

function ofSession(journals: Journal[], session: string): JournalRecord[] {
  return journals.find((journal) => journal.session === session)?.records ?? []
}

function isEnd(record: JournalRecord): record is Extract<JournalRecord, { type: 'session.ended' }> {
  return record.type === 'session.ended'
}

function countDeliveries(records: JournalRecord[], job: string, generation: number): number {
  const consumed = records.flatMap((record) => (record.type === 'turn.started' ? record.consumed : []))
  return records.reduce((count, record) => {
    if (record.type === 'call.finished') return count + Number(isOf(record.job, job, generation))
    if (record.type === 'result.undeliverable') return count + Number(isOf(record, job, generation))
    if (record.type !== 'message.received' || record.message.kind !== 'result') return count
    const times = consumed.filter((seq) => seq === record.seq).length
    return count + (isOf(record.message, job, generation) ? times : 0)
  }, 0)
}

function isOf(one: { job: string; generation: number } | undefined, job: string, generation: number): boolean {
  return one?.job === job && one.generation === generation
}

/** I5: what acts on the world begins once, and never after it has a result. I2: nothing has two results. */
function callProblems({ session, records }: Journal): string[] {
  const problems: string[] = []
  const started = new Set<string>()
  const finished = new Set<string>()
  for (const record of records) {
    if (record.type === 'call.started') {
      if (started.has(record.call)) problems.push(`I5: ${session}: call ${record.call} started twice`)
      if (finished.has(record.call)) problems.push(`I5: ${session}: call ${record.call} started after its result`)
      started.add(record.call)
    }
    if (record.type === 'call.finished') {
      if (finished.has(record.call)) problems.push(`I2: ${session}: call ${record.call} finished twice`)
      finished.add(record.call)
    }
  }
  return problems
}

/** I2: each assistant call is followed by its one result, in call order, before anything else. */
export function historyProblems(state: SessionState): string[] {
  const problems: string[] = []
  const seen = new Set<string>()
  let owed: string[] = []
  for (const message of buildMessages(state, (name) => name)) {
    if (message.role === 'tool') {
      if (owed[0] !== message.id) problems.push(`I2: result ${message.id} where ${owed[0] ?? 'none'} is due`)
      owed = owed.slice(1)
      continue
    }
    if (owed.length > 0) problems.push(`I2: calls ${owed.join(', ')} have no result`)
    owed = message.role === 'assistant' ? idsOf(message) : []
    for (const id of owed) {
      if (seen.has(id)) problems.push(`I2: two calls have the id ${id}`)
      seen.add(id)
    }
  }
  const open = state.calls.filter((call) => !call.result).map(({ id }) => id)
  return open.length > 0 ? [...problems, `I2: calls ${open.join(', ')} are still open`] : problems
}

function idsOf({ calls }: Extract<ModelMessage, { role: 'assistant' }>): string[] {
  return calls.map(({ id }) => id)
}

/** I4: seq rises by one from 1. */
function seqProblems({ session, records }: Journal): string[] {
  const broken = records.findIndex(({ seq }, index) => seq !== index + 1)
  return broken < 0 ? [] : [`I4: ${session}: record ${broken + 1} has seq ${records[broken]?.seq}`]
}

/** I4: in a copy, every journal takes another record and has all of them afterwards. */
async function appendProblems(
  { dataDir, root: name }: RunToCheck,
  journals: Journal[],
  damages: string[],
): Promise<string[]> {
  const root = name as SessionId
  const copy = mkdtempSync(join(tmpdir(), 'troupe-copy-'))
  const store = openStore(copy, damages)
  try {
    cpSync(join(dataDir, 'sessions', root), join(copy, 'sessions', root), { recursive: true })
    store.lockRoot(root)
    return journals.flatMap(({ session, records }) => {
      const ref = { root, session: session as SessionId }
      store.append(ref, [{ type: 'message.received', message: { kind: 'user', text: 'one more' } }])
      const found = store.read(ref).length
      return found === records.length + 1 ? [] : [`I4: ${session}: ${found} records after ${records.length} and one`]
    })
  } finally {
    await store.close()
    rmSync(copy, { recursive: true, force: true })
  }
}

/** I3: nothing that any of the programs had started is alive. */
function processProblems({ pids = [] }: RunToCheck): string[] {
  const ours = (marks: readonly string[]) => marks.some((mark) => pids.includes(Number(mark.split('.')[0])))
  return findProcesses(({ marks }) => ours(marks)).map(({ pid }) => `I3: process ${pid} of a tool is alive`)
}

/** I5, seen from the world: a command that said that it ran did so once; one that was interrupted at most once. */
function tokenProblems({ tokenFile }: RunToCheck, journals: Journal[]): string[] {
  if (tokenFile === undefined) return []
  const written = linesOf(tokenFile)
  return journals.flatMap(({ session, records }) =>
    commandsOf(records).flatMap(({ token, how }) => {
      const times = written.filter((line) => line === token).length
      const isRight = how === 'ok' ? times === 1 : times <= 1
      return isRight ? [] : [`I5: ${session}: command ${token} (${how}) ran ${times} times`]
    }),
  )
}

function commandsOf(records: JournalRecord[]): { token: string; how: string }[] {
  return records.flatMap((record) => {
    if (record.type !== 'assistant.message') return []
    return record.calls.flatMap(({ id, args }) => {
      const token = /echo (\S+) >>/.exec(String(args.command))?.[1]
      const end = records.find((other) => other.type === 'call.finished' && other.call === id)
      const how = end?.type === 'call.finished' ? end.result.how : 'none'
      return token === undefined ? [] : [{ token, how }]
    })
  })
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return [] // No command came so far as to write it.
  }
}

/** I7: what people are shown, by the board and at the end of the run, is what the journals say. */
function viewProblems({ dataDir, root, jobs }: RunToCheck, journals: Journal[]): string[] {
  const folded = journals.flatMap(jobsOf).map(viewOf).sort()
  const board = listJobs(root, dataDir).map(viewOf).sort()
  const told = jobs?.map(viewOf).sort() ?? folded
  return [
    ...(board.join() === folded.join() ? [] : [`I7: the board shows ${board}, the journals ${folded}`]),
    ...(told.join() === folded.join() ? [] : [`I7: the run told ${told}, the journals ${folded}`]),
  ]
}

/** What was kept for people alone reached no parent. */
function jobsOf({ records, state }: Journal): ChildJob[] {
  const kept = records.flatMap((record) => (record.type === 'result.undeliverable' ? [record] : []))
  return state.jobs.map((job) => {
    const reached = !kept.some((record) => isOf(record, job.job, job.generation))
    return { ...job, delivered: job.delivered && reached }
  })
}

function viewOf(job: { alias: string; generation: number; state?: string; delivered: boolean }): string {
  return `${job.alias}#${job.generation} ${job.state} ${job.delivered ? 'delivered' : 'open'}`
}
