import type { SessionId } from '../core/ids.ts'
import type { FileBefore, JournalRecord } from '../core/records.ts'

/** One write of a file, as the journal of its session tells. `diff` may have been cut. */
export type FileWrite = {
  session: SessionId
  generation: number
  turn: number
  path: string
  /** Of what was written. */
  hash: string
  before?: FileBefore
  diff?: string
  at: number
  seq: number
}

/** A child that was sent, or continued, in a turn of this session. */
export type Launch = { job: SessionId; alias: string; agent: string; generation: number; from: Moment }

/** A turn, within the generation of the session in which it was. */
export type Moment = { generation: number; turn: number }

/** What one journal tells of changes: writes by its tools, children, and the shell commands, of which nothing is known. */
export type SessionWrites = { writes: FileWrite[]; launches: Launch[]; commands: Moment[] }

/** Reads the writes out of a session's journal, oldest first. */
export function writesOf(records: Iterable<JournalRecord>, session: SessionId): SessionWrites {
  const found: SessionWrites = { writes: [], launches: [], commands: [] }
  const shells = new Set<string>()
  let generation = 1
  let hasEnded = false
  for (const record of records) {
    switch (record.type) {
      case 'message.received':
        if (hasEnded && record.message.kind === 'user') generation += 1
        if (record.message.kind === 'user') hasEnded = false
        break
      case 'session.ended':
        hasEnded = true
        break
      case 'assistant.message':
        for (const { id, tool } of record.calls) if (tool === 'bash') shells.add(id)
        break
      case 'call.started':
        if (shells.has(record.call)) found.commands.push({ generation, turn: turnOf(record.call) })
        break
      case 'call.finished':
        found.writes.push(...finishedWrites(record, { session, generation }))
        break
      case 'job.launched': {
        const { alias, seed, call } = record
        const from = { generation, turn: turnOf(call) }
        found.launches.push({ job: seed.session, alias, agent: seed.agent.name, generation: record.generation, from })
      }
    }
  }
  return found
}

function finishedWrites(
  { call, result, at, seq }: Extract<JournalRecord, { type: 'call.finished' }>,
  who: { session: SessionId; generation: number },
): FileWrite[] {
  const diff = result.metadata?.diff
  return (result.touched ?? [])
    .filter(({ kind }) => kind === 'write')
    .map(({ path, hash, before }) => ({
      ...who,
      turn: turnOf(call),
      path,
      hash,
      at,
      seq,
      ...(before && { before }),
      ...(typeof diff === 'string' && { diff }),
    }))
}

/** Call ids are `c<turn>.<n>`. */
function turnOf(call: string): number {
  return Number(/^c(\d+)\./.exec(call)?.[1] ?? 0)
}
