import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SessionId } from '../core/ids.ts'
import type { JournalRecord } from '../core/records.ts'
import { contextFilesOf, rowsOf, rowsUnder } from './board-state.ts'
import { changesOf } from './changes-of.ts'
import { type Board, createBoard } from './create-board.ts'
import { createJournals } from './fixtures/journals.ts'

const root = 'root' as SessionId

const step = fc.record({
  what: fc.constantFrom(
    'launch',
    'turn',
    'answer',
    'read',
    'write',
    'end',
    'receive',
    'call',
    'place',
    'move',
    'continue',
    'lost',
  ),
  who: fc.nat({ max: 7 }),
  path: fc.constantFrom('/w/a', '/w/b'),
  hash: fc.constantFrom('h1', 'h2', 'h3'),
  /** 0: within the same millisecond as the step before. */
  wait: fc.nat({ max: 1 }),
})

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

/** Plays a random life of a tree; what is impossible at that point is left out. */
function play(steps: Step[], listen: (record: JournalRecord, session: SessionId) => void) {
  const journals = createJournals(root, 0)
  journals.onRecord((record, { session }) => listen(record, session))
  const jobs: {
    job: string
    parent: string
    alias: string
    generation: number
    ended: boolean
    received?: number
    done: boolean
  }[] = []
  for (const { what, who, path, hash, wait } of steps) {
    journals.setStep(wait)
    const sessions = [root as string, ...jobs.map(({ job }) => job)]
    const session = sessions[who % sessions.length]!
    const job = jobs[who % Math.max(1, jobs.length)]
    const lines = { from: 1 + who, to: 10 + who, of: 40 }
    if (what === 'launch') {
      const alias = `exp-${jobs.length + 1}`
      jobs.push({
        job: journals.launch(session, alias, { background: who % 2 === 0 }),
        parent: session,
        alias,
        generation: 1,
        ended: false,
        done: false,
      })
    } else if (what === 'turn') journals.turn(session)
    else if (what === 'answer') journals.answer(session, { inputTokens: who, outputTokens: 1 })
    else if (what === 'read') journals.touch(session, { path, kind: 'read', hash, lines })
    else if (what === 'write') journals.touch(session, { path, kind: 'write', hash })
    else if (job === undefined) continue
    else if (what === 'end' && !job.ended) {
      journals.end(job.job, job.generation, 'completed', `text ${job.generation}`)
      job.ended = true
    } else if (what === 'move' && !job.done) journals.move(job.parent, job.job, job.generation)
    else if (what === 'receive' && job.ended && job.received === undefined && !job.done) {
      job.received = journals.receive(job.parent, job.job, job.generation, 'text')
    } else if (what === 'place' && job.received !== undefined && !job.done) {
      journals.turn(job.parent, [job.received])
      job.done = true
    } else if (what === 'call' && job.ended && job.received === undefined && !job.done) {
      journals.deliverByCall(job.parent, job.job, job.generation, 'completed', 'by call')
      job.done = true
    } else if (what === 'lost' && job.ended && !job.done) {
      journals.undeliverable(job.parent, job.job, job.generation, 'kept')
      job.done = true
    } else if (what === 'continue' && job.done) {
      job.generation++
      journals.launch(job.parent, job.alias, { background: true, generation: job.generation })
      Object.assign(job, { ended: false, received: undefined, done: false })
    }
  }
  return journals.journals
}

function describe(board: Board) {
  const state = board.snapshot()
  const sessions = [...state.sessions.keys()].sort() as SessionId[]
  return {
    rows: rowsOf(state, root),
    all: rowsOf(state),
    children: sessions.map((session) => [session, rowsUnder(state, session)]),
    files: contextFilesOf(state),
    texts: sessions.map((session) => board.textFor(session, '/w')),
  }
}

function applyAll(board: Board, records: JournalRecord[], session: string): void {
  const ref = { root, session: session as SessionId }
  for (const change of records.flatMap((record) => changesOf(record, ref))) board.apply(change)
}

test('journals replayed one after the other, in whichever order, rebuild the board as it was live', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.infiniteStream(fc.nat()), (steps, choices) => {
      const live = createBoard()
      const journals = play(steps, (record, session) => applyAll(live, [record], session))
      const expected = describe(live)
      const parentsFirst = createBoard()
      for (const [session, records] of journals) applyAll(parentsFirst, records, session)
      expect(describe(parentsFirst)).toEqual(expected)
      const childrenFirst = createBoard()
      for (const [session, records] of [...journals].reverse()) applyAll(childrenFirst, records, session)
      expect(describe(childrenFirst)).toEqual(expected)
      const mixed = createBoard()
      const queues = [...journals].map(([session, records]) => ({ session, records: [...records] }))
      for (let left = queues; left.length > 0; left = left.filter(({ records }) => records.length > 0)) {
        const { session, records } = left[choices.next().value % left.length]!
        applyAll(mixed, records.splice(0, 1), session)
      }
      expect(describe(mixed)).toEqual(expected)
    }),
    { numRuns: 300 },
  )
}, 60_000)
