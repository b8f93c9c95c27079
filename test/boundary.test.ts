import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type AskAnswer, createTroupe, type PermissionAsk, type RuntimeEvent } from '../src/index.ts'
import { createStage, createWorkplace, ofType, type Workplace } from './support/workplace.ts'

/** One message with a read, a bash that asks, a foreground task, and two edits of one file. */
const fiveCalls = {
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        calls: [
          { tool: 'read', args: { file_path: 'a.txt' } },
          { tool: 'bash', args: { command: 'touch asked; printf x >> ran.txt; wc -c ran.txt' } },
          { tool: 'task', args: { agent: 'explorer', prompt: 'look at b.txt' } },
          { tool: 'edit', args: { file_path: 'a.txt', old_string: 'one', new_string: 'ONE' } },
          { tool: 'edit', args: { file_path: 'a.txt', old_string: 'three', new_string: 'THREE' } },
        ],
      },
    },
    { when: { agent: 'explorer', turn: 1 }, reply: { calls: [{ tool: 'read', args: { file_path: 'b.txt' } }] } },
    { when: { agent: 'explorer' }, reply: { text: 'b says {{last}}' } },
    { when: { agent: 'lead', turn: 2 }, reply: { text: 'all answered' } },
  ],
}

const files = { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'bee\n' }

function expectAllDone(workplace: Workplace): void {
  expect(readFileSync(join(workplace.dir, 'a.txt'), 'utf8')).toBe('ONE\ntwo\nTHREE\n')
  expect(readFileSync(join(workplace.dir, 'ran.txt'), 'utf8')).toBe('x')
}

test('five calls in one message end in order although the question is answered late', async () => {
  const workplace = createWorkplace(files)
  const order: string[] = []
  const { play, events, troupe } = await createStage(workplace, fiveCalls, {
    allow: ['edit:*'],
    onAsk: () => until<AskAnswer>(() => childIsDone(events), { decision: 'once' }),
  })
  troupe.events.subscribe((event) => {
    if (event.type === 'tool.finished' && event.session === event.root) order.push(event.callId)
  })
  expect((await play('go')).status).toBe('done')
  expectAllDone(workplace)
  const writes = order.filter((call) => ['c1.2', 'c1.4', 'c1.5'].includes(call))
  expect(writes).toEqual(['c1.2', 'c1.4', 'c1.5'])
  expect(order[0]).toBe('c1.1')
})

test('the same ends the same when the program stops while the question is open', async () => {
  const workplace = createWorkplace(files)
  const model = `scripted:${workplace.script(fiveCalls)}`
  const { dir, dataDir, env } = workplace
  const options = { dir, dataDir, env, model, allow: ['edit:*'] }
  const first = await createTroupe({ ...options, onAsk: () => new Promise(() => undefined) })
  const { session } = first.run({ prompt: 'go' })
  await waitFor(first.events, (event) => event.type === 'session.suspended' && event.session === session)
  await waitUntil(() => first.asks().length === 1)
  await first.close()

  const asked: PermissionAsk[] = []
  const second = await createTroupe({
    ...options,
    onAsk: async (ask) => {
      asked.push(ask)
      return { decision: 'once' }
    },
  })
  const finished = await second.resume(session).finished
  await second.close()
  expect(finished).toMatchObject({ status: 'done', text: 'all answered' })
  expect(asked).toHaveLength(1)
  expect(finished.jobs).toMatchObject([{ alias: 'exp-1', state: 'completed', delivered: true }])
  expectAllDone(workplace)
})

function childIsDone(events: RuntimeEvent[]): boolean {
  return ofType(events, 'session.ended').length === 1
}

async function until<T>(holds: () => boolean, value: T): Promise<T> {
  await waitUntil(holds)
  return value
}

async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

function waitFor(
  events: { subscribe(listener: (event: RuntimeEvent) => void): unknown },
  matches: (event: RuntimeEvent) => boolean,
): Promise<void> {
  return new Promise((resolve) => events.subscribe((event) => matches(event) && resolve()))
}
