import { expect, test } from 'vitest'
import type { EventBody } from '../../core/events.ts'
import { exp1, runEvents, twoSessions } from './fake-run.ts'
import { applyEvent, createView, doingNow, type View } from './view.ts'

function viewOf(...more: [string, EventBody][]): View {
  const view = createView()
  for (const event of runEvents(...twoSessions(), ...more)) applyEvent(view, event)
  return view
}

function rowsOf(view: View): string[] {
  return [...view.rows.values()].map((row) => `${row.label} ${row.state} ${doingNow(view, row)}`.trim())
}

test('each session has a row with what it does, the root first', () => {
  expect(rowsOf(viewOf())).toEqual(['lead running', 'exp-1 running read src/a.ts'])
})

test('a job that is over and delivered says so, with the work that it took', () => {
  const view = viewOf(
    ['root-exp-1', { type: 'tool.finished', callId: 'c1.1' as never, tool: 'read', durationMs: 1, how: 'ok' }],
    ['root-exp-1', { type: 'turn.ended', turn: 1, usage: { inputTokens: 10, outputTokens: 5 } }],
    ['root-exp-1', { type: 'turn.started', turn: 2 }],
    ['root-exp-1', { type: 'turn.ended', turn: 2, usage: { inputTokens: 20, outputTokens: 5 } }],
    ['root-exp-1', { type: 'session.idle' }],
    [
      'root',
      { type: 'job.finished', ...exp1, state: 'completed', text: '3', usage: { inputTokens: 30, outputTokens: 10 } },
    ],
    ['root', { type: 'result.delivered', job: exp1.job, alias: 'exp-1', generation: 1, via: 'pair' }],
  )
  expect(view.rows.get('root-exp-1')).toMatchObject({ state: 'completed', turns: 2, tokens: 40, delivered: true })
})

test('a child of a child is named after both, an event about a session not seen before makes its row', () => {
  const view = viewOf(
    [
      'root-exp-1',
      {
        type: 'job.launched',
        job: 'root-exp-1-gen-1' as never,
        alias: 'gen-1',
        agent: 'general',
        generation: 1,
        background: false,
        description: 'x',
      },
    ],
    ['root-other', { type: 'turn.started', turn: 1 }],
  )
  expect(rowsOf(view).slice(2)).toEqual(['exp-1/gen-1 queued x', 'root-other running thinks'])
})

test('an open question outranks everything else until it is decided', () => {
  const ask = { id: 'a' as never, sessionId: 'root-exp-1' as never, kind: 'shell' as const, title: 'run tests' }
  const asked: [string, EventBody] = [
    'root-exp-1',
    { type: 'permission.requested', ...ask, detail: 'npm test', agent: 'explorer', depth: 1 },
  ]
  const resolved: [string, EventBody] = [
    'root-exp-1',
    { type: 'permission.resolved', id: ask.id, sessionId: ask.sessionId, decision: 'once', by: 'person' },
  ]
  expect(rowsOf(viewOf(asked))[1]).toBe('exp-1 running asks: npm test')
  expect(rowsOf(viewOf(asked, resolved))[1]).toBe('exp-1 running read src/a.ts')
})

test('what a suspended session waits for is named as people know it', () => {
  const view = viewOf(['root', { type: 'session.suspended', waitingFor: ['ask root/c1.1#1', 'root-exp-1'] }])
  expect(rowsOf(view)[0]).toBe('lead waiting waits for an answer, exp-1')
})

test('a command that is asked for is shown itself, whatever the model calls it', () => {
  const ask = { id: 'a' as never, sessionId: 'root' as never, kind: 'shell' as const, title: 'tidy up' }
  const view = viewOf(['root', { type: 'permission.requested', ...ask, detail: 'rm -rf /', agent: 'lead', depth: 0 }])
  expect(rowsOf(view)[0]).toBe('lead running asks: rm -rf /')
})

test('at the end the root says how it ended', () => {
  const usage = { inputTokens: 1, outputTokens: 1 }
  const view = viewOf(['root', { type: 'run.finished', status: 'done', denied: 0, text: '', usage, jobs: [] }])
  expect(rowsOf(view)[0]).toBe('lead completed')
})

test('waiting for a model slot is shown until the model answers', () => {
  const waiting: [string, EventBody] = ['root', { type: 'model.waiting', ahead: 3 }]
  const answering: [string, EventBody] = ['root', { type: 'text.delta', turn: 2, text: 'Well' }]
  expect(rowsOf(viewOf(waiting))[0]).toBe('lead running waits for the model (3 ahead)')
  expect(rowsOf(viewOf(waiting, answering))[0]).toBe('lead running writes')
})

test('names and titles of models cannot carry control characters into a row', () => {
  const view = viewOf([
    'root',
    { type: 'tool.started', callId: 'c2.1' as never, tool: 'bash\x1b[2J', title: 'ls\r\n\x1b]0;x\x07rm' },
  ])
  expect(rowsOf(view)[0]).toBe('lead running bash ls rm')
})
