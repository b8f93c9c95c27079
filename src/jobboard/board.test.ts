import { describe, expect, test } from 'vitest'
import type { BoardChange } from './board-change.ts'
import { createBoard, type JobRow } from './create-board.ts'
import { connect, createJournals } from './fixtures/journals.ts'

const tick = () => new Promise<void>((resolve) => queueMicrotask(resolve))

function boardOf(journals: ReturnType<typeof createJournals>) {
  const board = createBoard()
  connect(journals, board)
  return { board }
}

describe('jobs', () => {
  test('a job goes from queued over running to its end, and is delivered when a turn takes its result', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'exp-1', { background: true, description: 'Count exports' })
    expect(board.rows()).toMatchObject([
      {
        alias: 'exp-1',
        agent: 'explorer',
        state: 'queued',
        background: true,
        delivered: false,
        generation: 1,
        turns: 0,
      },
    ])
    journals.turn(job)
    journals.answer(job, { inputTokens: 10, outputTokens: 3 })
    expect(board.rows()).toMatchObject([{ state: 'running', turns: 1, usage: { inputTokens: 10, outputTokens: 3 } }])
    board.apply({ type: 'job.changed', job: job as never, generation: 1, state: 'running', doing: 'read a.ts' })
    expect(board.rows()[0]).toMatchObject({ doing: 'read a.ts' })
    journals.end(job, 1, 'completed', 'There are 3.')
    expect(board.rows()[0]).toMatchObject({ state: 'completed', text: 'There are 3.', delivered: false })
    expect(board.rows()[0]).not.toHaveProperty('doing')
    const seq = journals.receive('root', job, 1, 'There are 3.')
    expect(board.rows()[0]).toMatchObject({ delivered: false })
    journals.turn('root', [seq])
    expect(board.rows()[0]).toMatchObject({ delivered: true, state: 'completed' })
  })

  test('a foreground job is delivered by the result of its call, a moved one by its pair', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const one = journals.launch('root', 'exp-1', {})
    const two = journals.launch('root', 'exp-2', {})
    journals.deliverByCall('root', one, 1, 'completed', 'done')
    expect(board.rows()[0]).toMatchObject({ background: false, delivered: true, state: 'completed', text: 'done' })
    journals.move('root', two, 1)
    journals.callFinished('root', [])
    expect(board.rows()[1]).toMatchObject({ background: true, delivered: false, state: 'queued' })
  })

  test('a change of an older generation never touches a newer one', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'exp-1', { background: true })
    journals.end(job, 1, 'completed', 'first')
    journals.turn('root', [journals.receive('root', job, 1, 'first')])
    journals.launch('root', 'exp-1', { background: true, generation: 2 })
    const fresh = { generation: 2, state: 'queued', delivered: false, turns: 0 }
    expect(board.rows()).toMatchObject([fresh])
    const late = { state: 'failed', text: 'late', usage: { inputTokens: 1, outputTokens: 1 }, turns: 9, at: 1 } as const
    const changes: BoardChange[] = [
      { type: 'job.finished', job: job as never, root: 'root' as never, generation: 1, end: late },
      { type: 'result.undeliverable', job: job as never, root: 'root' as never, generation: 1, end: late },
      { type: 'job.delivered', job: job as never, root: 'root' as never, generation: 1 },
      { type: 'job.moved', job: job as never, root: 'root' as never, generation: 1 },
      { type: 'job.changed', job: job as never, generation: 1, state: 'waiting' },
    ]
    for (const change of changes) board.apply(change)
    expect(board.rows()).toMatchObject([fresh])
    expect(board.rows()[0]).not.toHaveProperty('text')
    journals.end(job, 2, 'completed', 'second')
    expect(board.rows()).toMatchObject([{ generation: 2, state: 'completed', text: 'second' }])
  })

  test('what the parent was told outranks the lost end of a child', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'exp-1', { background: true })
    journals.turn(job)
    journals.receive('root', job, 1, 'all of it')
    expect(board.rows()[0]).toMatchObject({ state: 'completed', text: 'all of it' })
  })

  test('a result that could not be delivered is kept with its state', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'exp-1', { background: true })
    journals.undeliverable('root', job, 1, 'nobody reads this')
    expect(board.rows()[0]).toMatchObject({ state: 'completed', delivered: false, text: 'nobody reads this' })
  })

  test('a snapshot does not change', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    journals.launch('root', 'exp-1', {})
    const before = board.snapshot()
    const rows = [...before.jobs.values()].map(({ row }) => row)
    journals.launch('root', 'exp-2', {})
    journals.end('root-exp-1', 1, 'failed', '')
    expect([...before.jobs.values()].map(({ row }) => row)).toEqual(rows)
    expect(board.snapshot().jobs.size).toBe(2)
  })
})

describe('streams', () => {
  test('they begin with what is there and emit once per burst', async () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'exp-1', {})
    const seen: { all: number[]; one: string[]; mine: number[]; theirs: number[] } = {
      all: [],
      one: [],
      mine: [],
      theirs: [],
    }
    board.jobs$.subscribe((rows) => seen.all.push(rows.length))
    board.job$(job as never).subscribe((row) => seen.one.push(row.state))
    board.forParent$('root' as never).subscribe((rows) => seen.mine.push(rows.length))
    board.forParent$(job as never).subscribe((rows) => seen.theirs.push(rows.length))
    expect(seen).toEqual({ all: [1], one: ['queued'], mine: [1], theirs: [0] })
    for (let n = 2; n <= 9; n++) journals.launch('root', `exp-${n}`, {})
    journals.turn(job)
    await tick()
    expect(seen).toEqual({ all: [1, 9], one: ['queued', 'running'], mine: [1, 9], theirs: [0] })
    journals.touch(job, { path: '/w/a', kind: 'read', hash: 'h' })
    await tick()
    expect(seen.all).toEqual([1, 9])
  })

  test('each change and each stale reader is told at once', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const changes: string[] = []
    const stale: unknown[] = []
    board.changes$.subscribe(({ type }) => changes.push(type))
    board.stale$.subscribe((one) => stale.push(one))
    const job = journals.launch('root', 'exp-1', {})
    journals.touch('root', { path: '/w/a', kind: 'read', hash: 'one' })
    journals.touch(job, { path: '/w/a', kind: 'write', hash: 'two' })
    expect(changes).toEqual(['job.launched', 'session.created', 'file.touched', 'file.touched'])
    expect(stale).toEqual([{ session: 'root', path: '/w/a', by: job }])
  })

  test('all complete on close, with the last state, and nothing is taken in afterwards', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'exp-1', {})
    const ended: string[] = []
    const last: JobRow[][] = []
    const watch = (name: string) => ({ complete: () => ended.push(name) })
    board.jobs$.subscribe({ ...watch('jobs'), next: (rows) => last.push(rows) })
    board.job$(job as never).subscribe(watch('job'))
    board.forParent$('root' as never).subscribe(watch('parent'))
    board.contextFiles$().subscribe(watch('files'))
    board.stale$.subscribe(watch('stale'))
    board.changes$.subscribe(watch('changes'))
    journals.end(job, 1, 'completed', 'x')
    board.close()
    expect(last.at(-1)).toMatchObject([{ state: 'completed' }])
    expect(ended.sort()).toEqual(['changes', 'files', 'job', 'jobs', 'parent', 'stale'])
    journals.launch('root', 'exp-2', {})
    expect(board.rows()).toHaveLength(1)
    let late = 0
    board.jobs$.subscribe({ next: () => late++, complete: () => late++ })
    expect(late).toBe(2)
  })

  test('the stream of a job ends when its root is forgotten', async () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'exp-1', {})
    let ended = false
    board.job$(job as never).subscribe({ complete: () => (ended = true) })
    board.forgetRoot('root' as never)
    await tick()
    expect(ended).toBe(true)
  })
})

describe('context files', () => {
  test('they tell who read which lines and who wrote', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'exp-1', {})
    journals.touch(job, { path: '/w/a', kind: 'read', hash: 'one', lines: { from: 1, to: 50, of: 200 } })
    journals.touch(job, { path: '/w/a', kind: 'read', hash: 'one', lines: { from: 51, to: 80, of: 200 } })
    journals.touch(job, { path: '/w/a', kind: 'read', hash: 'one', lines: { from: 150, to: 200, of: 200 } })
    journals.touch('root', { path: '/w/a', kind: 'write', hash: 'two' })
    expect(board.contextFiles('/w/a')).toEqual([
      {
        path: '/w/a',
        hash: 'two',
        readers: [
          { session: 'root', hash: 'two', stale: false },
          {
            session: job,
            hash: 'one',
            stale: true,
            lines: [
              { from: 1, to: 80, of: 200 },
              { from: 150, to: 200, of: 200 },
            ],
          },
        ],
        writers: [{ session: 'root', hash: 'two' }],
      },
    ])
  })

  test('a session is told once of a file that another has changed, and again only after it has read it', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'fix-1', {})
    board.textFor('root' as never, '/w')
    journals.touch('root', { path: '/w/src/a.ts', kind: 'read', hash: 'one' })
    journals.touch(job, { path: '/w/src/a.ts', kind: 'write', hash: 'two' })
    expect(board.textFor('root' as never, '/w')).toContain('- src/a.ts (changed by fix-1)')
    expect(board.textFor('root' as never, '/w')).not.toContain('src/a.ts')
    journals.touch(job, { path: '/w/src/a.ts', kind: 'write', hash: 'three' })
    expect(board.textFor('root' as never, '/w')).not.toContain('src/a.ts')
    journals.touch('root', { path: '/w/src/a.ts', kind: 'read', hash: 'three' })
    journals.touch(job, { path: '/w/src/a.ts', kind: 'write', hash: 'four' })
    expect(board.textFor('root' as never, '/w')).toContain('- src/a.ts')
  })

  test('who reads it again before it was told is not told', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'fix-1', {})
    journals.touch(job, { path: '/w/a', kind: 'read', hash: 'one' })
    journals.touch('root', { path: '/w/a', kind: 'write', hash: 'two' })
    journals.touch(job, { path: '/w/a', kind: 'read', hash: 'two' })
    expect(board.textFor(job as never, '/w')).toBe('')
  })

  test('a read finds a change that no session made', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'exp-1', {})
    journals.touch(job, { path: '/w/a', kind: 'read', hash: 'one' })
    journals.touch('root', { path: '/w/a', kind: 'read', hash: 'two' })
    expect(board.textFor(job as never, '/w')).toBe(
      '<job-board>\nThese files have changed since you last saw them. Read them again before you rely on them or edit them:\n- a\n</job-board>',
    )
  })

  test('a read of the old content that is recorded after the write makes that reader stale, not the writer', () => {
    const journals = createJournals('root')
    const { board } = boardOf(journals)
    const job = journals.launch('root', 'exp-1', {})
    journals.touch('root', { path: '/w/a', kind: 'read', hash: 'one' })
    journals.touch('root', { path: '/w/a', kind: 'write', hash: 'two' })
    journals.touch(job, { path: '/w/a', kind: 'read', hash: 'one' })
    const [file] = board.contextFiles()
    expect(file?.readers.map(({ session, stale }) => [session, stale])).toEqual([
      ['root', false],
      [job, true],
    ])
  })
})

describe('forgetting', () => {
  test('a root takes its sessions, jobs and files with it, and leaves those of others', () => {
    const one = createJournals('one')
    const two = createJournals('two')
    const board = createBoard()
    for (const journals of [one, two]) {
      connect(journals, board)
    }
    for (const [journals, root] of [
      [one, 'one'],
      [two, 'two'],
    ] as const) {
      const job = journals.launch(root, 'exp-1', {})
      journals.touch(job, { path: '/w/shared', kind: 'read', hash: 'h' })
      journals.touch(job, { path: `/w/${root}`, kind: 'write', hash: 'h' })
    }
    board.forgetRoot('one' as never)
    expect(board.rows().map(({ root }) => root)).toEqual(['two'])
    expect(board.contextFiles().map(({ path, readers }) => [path, readers.length])).toEqual([
      ['/w/shared', 1],
      ['/w/two', 1],
    ])
    board.forgetRoot('two' as never)
    const { jobs, sessions, roots, files } = board.snapshot()
    expect([jobs.size, sessions.size, roots.size, files.size]).toEqual([0, 0, 0, 0])
  })

  test('10,000 jobs that come, work and go leave nothing behind', () => {
    const board = createBoard()
    const rows: number[] = []
    board.jobs$.subscribe((all) => rows.push(all.length))
    for (let n = 0; n < 10_000; n++) {
      const root = `r${n}`
      const journals = createJournals(root)
      connect(journals, board)
      const job = journals.launch(root, 'exp-1', { background: true })
      board.apply({ type: 'job.changed', job: job as never, generation: 1, state: 'running', doing: 'x' })
      journals.touch(job, { path: `/w/${n}`, kind: 'read', hash: 'h' })
      journals.touch(root, { path: `/w/${n}`, kind: 'write', hash: 'i' })
      journals.end(job, 1, 'completed', 'x')
      journals.turn(root, [journals.receive(root, job, 1, 'x')])
      board.forgetRoot(root as never)
      board.apply({ type: 'job.changed', job: job as never, generation: 1, state: 'waiting' })
    }
    const { jobs, sessions, roots, files } = board.snapshot()
    expect([jobs.size, sessions.size, roots.size, files.size]).toEqual([0, 0, 0, 0])
    expect(rows.at(-1)).toBe(0)
    board.close()
  }, 60_000)
})
