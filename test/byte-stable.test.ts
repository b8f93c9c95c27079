import { describe, expect, onTestFinished, test } from 'vitest'
import { createTroupe, type RuntimeEvent, type Troupe } from '../src/index.ts'
import { type Overheard, overhear } from './support/overheard.ts'
import { createWorkplace, ofType } from './support/workplace.ts'

const session = 'lead-session'
const task = (agent: string, prompt: string) => ({ tool: 'task', args: { agent, prompt, background: true } })
const readCall = (path: string) => ({ tool: 'read', args: { file_path: path } })

/** Two children in the background, one of which changes a file that the lead has read; a loop; results; a second life. */
const script = {
  model: { context: 32_768, parameters: '70B', tools: true },
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        thinking: 'two at once',
        calls: [readCall('a.txt'), task('explorer', 'slow'), task('general', 'change a.txt')],
      },
    },
    { when: { agent: 'lead', turn: '<=6' }, reply: { text: 'look', calls: [readCall('b.txt')], delayMs: 60 } },
    { when: { agent: 'lead', turn: 7 }, reply: { calls: [readCall('no-such-file'), { tool: 'nosuch', args: {} }] } },
    {
      when: { agent: 'general', turn: 1 },
      reply: {
        calls: [
          readCall('a.txt'),
          { tool: 'edit', args: { file_path: 'a.txt', old_string: 'one', new_string: '<job-board>' } },
        ],
      },
    },
    { when: { agent: 'general' }, reply: { text: 'a.txt is changed' } },
    {
      when: { agent: 'explorer', turn: '<=3' },
      reply: { calls: [readCall('a.txt'), readCall('b.txt')], delayMs: 400 },
    },
    { when: { agent: 'explorer' }, reply: { text: 'seen', delayMs: 400 } },
    { when: { agent: 'lead', results: 2, last: 'user' }, reply: { calls: [readCall('a.txt')] } },
    { when: { agent: 'lead' }, reply: { text: 'turn {{turn}}' } },
  ],
}

describe.each(['full', 'compact'] as const)('requests of the toolset %s', (toolset) => {
  test('begin with what the one before them had, through results, notices, steering and restarts', async () => {
    const workplace = createWorkplace({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
    const { requests, options } = await overhear(workplace, script)
    const events: RuntimeEvent[] = []
    const live = async (work: (troupe: Troupe) => Promise<unknown>) => {
      const { dir, dataDir } = workplace
      const config = { toolset, servers: { ollama: { slots: 4 } } }
      const troupe = await createTroupe({ dir, dataDir, ...options, config, permission: 'allow' })
      onTestFinished(() => troupe.close())
      troupe.events.subscribe((event) => events.push(event))
      await work(troupe)
      await troupe.close()
    }
    await live(async (troupe) => {
      const run = troupe.run({ prompt: 'go', session })
      await seen(
        troupe,
        ({ type, session: of, ...event }) =>
          type === 'turn.started' && of === session && 'turn' in event && event.turn === 3,
      )
      run.send('Look at b.txt as well.')
      await seen(troupe, ({ type, session: of }) => type === 'session.idle' && of === session)
    })
    const before = requests.length
    await live((troupe) => troupe.resume(session, 'What is new?').finished)
    await live((troupe) => troupe.resume(session, 'And now?', { maxTurns: 1 }).finished)
    expect(requests.length).toBeGreaterThan(before + 2)

    const sessions = new Set(requests.map((request) => request.session))
    expect(sessions.size).toBe(3)
    for (const one of sessions) expectStable(requests.filter((request) => request.session === one))
    const ofLead = requests.filter((request) => request.session === session)
    const boards = ofLead.map(({ board }) => board).join('\n')
    for (const told of ['a.txt (changed by gen-1)', 'Jobs at work:', 'context read by exp-1'])
      expect(boards).toContain(told)
    expect(boards).toContain('You have reached your limit')
    expect(boards).toContain('with the same result')
    expect(ofType(events, 'result.delivered')).toHaveLength(2)
    expect(ofLead.at(-1)!.body).toContain('Look at b.txt as well.')
  })
})

function expectStable(requests: Overheard[]): void {
  expect(requests.length).toBeGreaterThan(1)
  for (const [index, request] of requests.entries()) {
    const next = requests[index + 1]
    if (!next) return
    const { start, end } = split(request)
    expect(next.body.slice(0, start.length)).toBe(start)
    expect(split(next).end).toBe(end)
  }
}

/** A body in bytes: all before the board's text, or before the end of the messages; and all after the messages. */
function split({ body, messages, board }: Overheard): { start: string; end: string } {
  const texts = messages.map((message) => JSON.stringify(message))
  const all = texts.join(',')
  const at = body.indexOf(all)
  expect(at).toBeGreaterThan(0)
  const kept = board === '' ? all : texts.slice(0, -1).join(',')
  return { start: body.slice(0, at + kept.length), end: body.slice(at + all.length) }
}

function seen(troupe: Troupe, matches: (event: RuntimeEvent) => boolean): Promise<void> {
  return new Promise((resolve) => troupe.events.subscribe((event) => matches(event) && resolve()))
}
