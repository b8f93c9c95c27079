import type { EventBody, RuntimeEvent } from '../../core/events.ts'
import type { SessionId } from '../../core/ids.ts'

/** Events of a made-up run whose root session is `root`; for tests. */
export function runEvents(...events: [session: string, body: EventBody][]): RuntimeEvent[] {
  return events.map(([session, body], at) => ({
    seq: at + 1,
    at: at * 1000,
    root: 'root' as SessionId,
    session: session as SessionId,
    ...body,
  }))
}

/** `lead` starts, launches `exp-1` in the background and waits; `exp-1` reads a file. */
export function twoSessions(): [string, EventBody][] {
  return [
    ['root', { type: 'session.created', agent: 'lead', depth: 0, model: 'scripted:x', dir: '/d' }],
    ['root', { type: 'session.activated', epoch: 1 }],
    ['root', { type: 'turn.started', turn: 1 }],
    ['root', { type: 'job.launched', ...exp1, background: true, description: 'count the exports' }],
    ['root', { type: 'turn.ended', turn: 1, usage: { inputTokens: 900, outputTokens: 100 } }],
    [
      'root-exp-1',
      { type: 'session.created', agent: 'explorer', depth: 1, parent: 'root' as SessionId, model: 'm', dir: '/d' },
    ],
    ['root-exp-1', { type: 'session.activated', epoch: 1 }],
    ['root-exp-1', { type: 'turn.started', turn: 1 }],
    ['root-exp-1', { type: 'tool.started', callId: 'c1.1' as never, tool: 'read', title: 'src/a.ts' }],
  ]
}

export const exp1 = { job: 'root-exp-1' as never, alias: 'exp-1', agent: 'explorer', generation: 1 }
