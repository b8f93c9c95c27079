import { expect, test } from 'vitest'
import type { EventBody } from '../../core/events.ts'
import { plainLine } from './event-line.ts'
import { exp1, runEvents, twoSessions } from './fake-run.ts'
import { applyEvent, createView } from './view.ts'

function plainLines(...more: [string, EventBody][]): string[] {
  const view = createView()
  return runEvents(...twoSessions(), ...more).flatMap((event) => {
    const line = plainLine(view, event)
    applyEvent(view, event)
    return line === undefined ? [] : [line]
  })
}

test('a run reads as one line for each thing that happens', () => {
  const lines = plainLines(
    ['root-exp-1', { type: 'tool.finished', callId: 'c1.1' as never, tool: 'read', durationMs: 1, how: 'ok' }],
    ['root-exp-1', { type: 'turn.ended', turn: 1, usage: { inputTokens: 1200, outputTokens: 34 } }],
    [
      'root',
      { type: 'job.finished', ...exp1, state: 'completed', text: '3', usage: { inputTokens: 1, outputTokens: 1 } },
    ],
    ['root', { type: 'result.delivered', job: exp1.job, alias: 'exp-1', generation: 1, via: 'pair' }],
  )
  expect(lines).toEqual([
    '[exp-1 explorer] started in the background: count the exports',
    '[exp-1 explorer] read src/a.ts',
    '[exp-1 explorer] completed (1 turn, 1.2k tokens)',
    '[exp-1 explorer] result delivered',
  ])
})

test('what failed, was denied without asking, or broke down has its line', () => {
  const ask = { id: 'a' as never, sessionId: 'root-exp-1' as never }
  const lines = plainLines(
    ['root-exp-1', { type: 'tool.finished', callId: 'c1.1' as never, tool: 'read', durationMs: 1, how: 'error' }],
    [
      'root-exp-1',
      {
        type: 'permission.requested',
        ...ask,
        kind: 'shell',
        title: 'npm test',
        detail: 'npm test',
        agent: 'explorer',
        depth: 1,
      },
    ],
    ['root-exp-1', { type: 'permission.resolved', ...ask, decision: 'reject', by: 'policy' }],
    [
      'root',
      {
        type: 'model.retried',
        attempt: 2,
        delayMs: 2000,
        error: { code: 'model-failed', message: 'The server said 503.' },
      },
    ],
    [
      'root',
      {
        type: 'worker.died',
        worker: 'w1' as never,
        error: { code: 'internal', message: 'out of memory' },
        sessions: [exp1.job],
      },
    ],
  )
  expect(lines.slice(2)).toEqual([
    '[exp-1 explorer] read src/a.ts: failed',
    '[exp-1 explorer] asks: npm test',
    '[exp-1 explorer] denied, nobody was asked: npm test',
    '[lead] The server said 503. Tries again in 2.0 s (try 2).',
    'worker w1 died (out of memory); 1 session to start again',
  ])
})

test('moving forward in the queue for the model is told once', () => {
  const lines = plainLines(
    ['root', { type: 'model.waiting', ahead: 3 }],
    ['root', { type: 'model.waiting', ahead: 2 }],
    ['root', { type: 'model.waiting', ahead: 0 }],
  )
  expect(lines.slice(2)).toEqual(['[lead] waits for the model (3 ahead)'])
})
