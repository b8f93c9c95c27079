import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../core/clock.ts'
import type { CallId, SessionId } from '../core/ids.ts'
import type { RecordBody } from '../core/records.ts'
import { parseAgentInput } from '../definitions/parse-agent-input.ts'
import { fold } from '../session/fold.ts'
import { createStore, type Store } from '../store/create-store.ts'
import { createFoldedStates } from './folded-states.ts'
import { newEntry, refOf, type SessionEntry, summarise } from './session-entry.ts'

const agent = parseAgentInput({ name: 'worker', description: 'd', prompt: 'p', mode: 'all' })
const usage = { inputTokens: 10, outputTokens: 2 }

/** Round by round: a message, a turn with a call, its result, and a compaction now and then. */
function roundOf(turn: number, uptoSeq: number): RecordBody[] {
  const call = `c${turn}.1` as CallId
  const result = { how: 'ok' as const, isError: false, output: `output ${turn}`, touched: [] }
  return [
    { type: 'message.received', message: { kind: 'user', text: `message ${turn}` } },
    { type: 'turn.started', turn, consumed: [uptoSeq + 1], epoch: 1 },
    { type: 'assistant.message', turn, text: 'I look.', calls: [{ id: call, tool: 'read', args: {} }], usage },
    { type: 'call.finished', call, result, durationMs: 1 },
    { type: 'turn.started', turn: turn + 1, consumed: [], epoch: 1 },
    { type: 'assistant.message', turn: turn + 1, text: 'Done.', calls: [], usage },
    ...(turn % 3 === 0 ? compacted(uptoSeq) : []),
  ]
}

function compacted(uptoSeq: number): RecordBody[] {
  return [{ type: 'history.compacted', uptoSeq, summary: 'before' }]
}

function openWorld(names: string[]) {
  const base = mkdtempSync(join(tmpdir(), 'troupe-states-'))
  const store = createStore({ dataDir: base, clock: systemClock, onDamage: () => undefined })
  onTestFinished(async () => {
    await store.close()
    rmSync(base, { recursive: true, force: true })
  })
  return { store, entries: names.map((name) => createSession(store, name as SessionId)) }
}

function createSession(store: Store, session: SessionId): SessionEntry {
  store.lockRoot(session)
  const seed = { session, root: session, depth: 0, agent, model: 'm', dir: '/', limits: {} }
  const entry = newEntry(seed)
  write(store, entry, [{ type: 'session.created', version: 1, seed }])
  return entry
}

function write(store: Store, entry: SessionEntry, bodies: RecordBody[]) {
  const records = store.append(refOf(entry), bodies)
  for (const record of records) summarise(entry, record)
  return records
}

test.each([
  ['all are kept', Number.POSITIVE_INFINITY],
  ['some have to go', 4000],
  ['none is kept', 0],
])('a session that is woken again and again has the state of its journal: %s', (_, maxBytes) => {
  const { store, entries } = openWorld(['a', 'b', 'c'])
  const states = createFoldedStates(store, maxBytes)
  for (let turn = 1; turn <= 9; turn += 2) {
    for (const entry of entries) {
      states.add(entry, write(store, entry, roundOf(turn, entry.lastSeq)))
      expect(states.of(entry)).toEqual(fold(store.read(refOf(entry))))
    }
  }
})

test('a journal is read once for a session that is kept, and again for one that had to go', () => {
  const { store, entries } = openWorld(['a', 'b'])
  const reads: string[] = []
  const counting: Store = {
    ...store,
    read(ref) {
      reads.push(ref.session)
      return store.read(ref)
    },
  }
  const [a, b] = entries as [SessionEntry, SessionEntry]
  const roomy = createFoldedStates(counting)
  for (const entry of [a, a, b, a, b]) roomy.of(entry)
  expect(reads).toEqual(['a', 'b'])

  const tight = createFoldedStates(counting, store.bytesOf(refOf(a)))
  for (const entry of [a, a, b, a]) tight.of(entry)
  expect(reads.slice(2)).toEqual(['a', 'b', 'a'])
})

test('a state that has missed a record is not used', () => {
  const { store, entries } = openWorld(['a'])
  const entry = entries[0]!
  const states = createFoldedStates(store)
  const before = states.of(entry).lastSeq
  write(store, entry, roundOf(1, entry.lastSeq)) // And nobody tells.
  expect(states.of(entry).lastSeq).toBeGreaterThan(before)
  expect(states.of(entry)).toEqual(fold(store.read(refOf(entry))))
})

test('a session that is over is kept no longer', () => {
  const { store, entries } = openWorld(['a'])
  const entry = entries[0]!
  const states = createFoldedStates(store)
  const first = states.of(entry)
  const result = { state: 'completed' as const, text: '', usage, turns: 1 }
  states.add(entry, write(store, entry, [{ type: 'session.ended', generation: 1, result }]))
  expect(states.of(entry)).not.toBe(first)
  expect(states.of(entry)).toEqual(fold(store.read(refOf(entry))))
})
