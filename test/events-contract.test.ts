import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { type Finished, newHome } from './cli-process.ts'
import type { Script } from './support/workplace.ts'

/**
 * What `troupe run --json` prints is relied on by programs of others: these shapes are written from the contract, not from
 * the code. Fields besides these are allowed, and so are types besides these that are named as the others are.
 */
const name = z.string().min(1)
const count = z.int().min(0)
const number = z.int().min(1)
const usage = z.object({ inputTokens: count, outputTokens: count })
const error = z.object({ code: name, message: name })
const endState = z.enum(['completed', 'failed', 'cancelled', 'timed_out', 'limit'])
const jobState = z.union([endState, z.enum(['queued', 'running', 'waiting'])])
const job = { job: name, alias: z.string().regex(/^[a-z0-9]+-\d+$/), generation: number }
const call = { callId: z.string().regex(/^c\d+\.\d+$/), tool: name }

const shapes: Record<string, z.ZodObject> = {
  'session.created': z.object({ agent: name, depth: count, parent: name.optional() }),
  'session.activated': z.object({ epoch: number }),
  'session.suspended': z.object({ waitingFor: z.array(name).min(1) }),
  'session.idle': z.object({}),
  'session.ended': z.object({ state: endState, error: error.optional() }),
  'session.restarted': z.object({ reason: name }),
  'turn.started': z.object({ turn: number }),
  'turn.ended': z.object({ turn: number, usage }),
  'text.delta': z.object({ text: z.string().min(1) }),
  'thinking.delta': z.object({ text: z.string().min(1) }),
  'message.added': z.object({ role: z.enum(['user', 'assistant', 'result']), text: z.string() }),
  'tool.started': z.object({ ...call, title: z.string() }),
  'tool.finished': z.object({
    ...call,
    durationMs: count,
    how: z.enum(['ok', 'error', 'denied', 'cancelled', 'interrupted']),
  }),
  'permission.requested': z.object({
    id: name,
    sessionId: name,
    kind: z.enum(['shell', 'edit', 'mcp', 'acp', 'other']),
    title: name,
    detail: name,
  }),
  'permission.resolved': z.object({ id: name, sessionId: name, decision: z.enum(['once', 'always', 'reject']) }),
  'job.launched': z.object({ ...job, agent: name, background: z.boolean() }),
  'job.updated': z.object({ ...job, agent: name, state: jobState }),
  'job.finished': z.object({ ...job, agent: name, state: endState, text: z.string() }),
  'result.delivered': z.object({ ...job, via: z.enum(['call', 'pair']) }),
  'context.stale': z.object({ path: name }),
  'model.waiting': z.object({ ahead: count }),
  'model.retried': z.object({ attempt: z.int().min(2), delayMs: z.number().min(0), error }),
  'model.truncated': z.object({ message: name }),
  'worker.died': z.object({ error }),
  'limit.reached': z.object({ limit: name, value: z.number() }),
  'run.finished': z.object({
    status: z.enum(['done', 'failed', 'limit', 'interrupted']),
    denied: count,
    text: z.string(),
    usage,
    jobs: z.array(z.object({ alias: name, agent: name, generation: number, state: jobState, delivered: z.boolean() })),
  }),
}

const everyEvent = z.object({ seq: number, at: z.int().min(1_500_000_000_000), root: name, session: name, type: name })

type Event = z.infer<typeof everyEvent> & Record<string, unknown>

/** The events of a run, each of a valid shape, in an order that makes sense. */
function eventsOf({ stdout }: Finished): Event[] {
  const lines = stdout.split('\n')
  expect(lines.pop()).toBe('')
  const events = lines.map((line) => checked(JSON.parse(line)))
  expectOrder(events)
  expectPairs(events)
  return events
}

function checked(value: unknown): Event {
  const event = z.looseObject(everyEvent.shape).parse(value)
  const shape = shapes[event.type]
  if (!shape) expect(event.type).toMatch(/^[a-z]+\.[a-z]+ed$/)
  const { error: problem } = z.looseObject(shape?.shape ?? {}).safeParse(event)
  expect({ event, problem: problem?.message }).toEqual({ event, problem: undefined })
  return event
}

function expectOrder(events: Event[]): void {
  for (const [index, { seq }] of events.entries())
    if (index > 0) expect(seq).toBeGreaterThan(events[index - 1]?.seq ?? 0)
  expect(events.filter(({ type }) => type === 'run.finished')).toEqual([events.at(-1)])
  expect(new Set(events.map(({ root }) => root)).size).toBe(1)
  const { root, session } = events.at(-1) as Event
  expect(session).toBe(root)
  for (const [index, event] of events.entries()) {
    const before = events.slice(0, index)
    if (event.type === 'run.finished') continue
    const isResumed = !events.some(({ type, session: created }) => type === 'session.created' && created === root)
    if (isResumed || event.type === 'session.created') continue
    expect(before.some(({ type, session: created }) => type === 'session.created' && created === event.session)).toBe(
      true,
    )
  }
}

/** What begins is ended by an event of the same name, unless the run ends first. */
function expectPairs(events: Event[]): void {
  const of = (type: string) => events.filter((event) => event.type === type)
  for (const asked of of('permission.requested')) {
    expect(asked.sessionId).toBe(asked.session)
    expect(of('permission.resolved').filter(({ id }) => id === asked.id)).toHaveLength(1)
  }
  for (const { job: launched, generation } of of('job.launched')) {
    const same = (event: Event) => event.job === launched && event.generation === generation
    expect(of('job.finished').filter(same)).toHaveLength(1)
    expect(of('result.delivered').filter(same).length).toBeLessThanOrEqual(1)
  }
  for (const { text, turn, session } of of('message.added')
    .filter(({ role }) => role === 'assistant')
    .map(withTurn(events))) {
    const deltas = of('text.delta').filter((delta) => delta.session === session && delta.turn === turn)
    expect(deltas.map((delta) => delta.text).join('')).toBe(text)
  }
}

/** An answer belongs to the turn that its session had begun last. */
function withTurn(events: Event[]) {
  return (message: Event): Event => {
    const started = events.filter(
      ({ type, session, seq }) => type === 'turn.started' && session === message.session && seq < message.seq,
    )
    return { ...message, turn: started.at(-1)?.turn }
  }
}

/** Two explorers, one in the background and one in the foreground, and a command that asks; thinking, a retry, an edit. */
const script: Script = {
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        text: 'I send two.',
        thinking: 'Two will do.',
        calls: [
          { tool: 'task', args: { agent: 'explorer', prompt: 'read a.txt', background: true } },
          { tool: 'task', args: { agent: 'explorer', prompt: 'read b.txt' } },
          { tool: 'bash', args: { command: 'touch made.txt' } },
          { tool: 'write', args: { file_path: 'new.txt', content: 'new\u001b[31m\n' } },
        ],
      },
    },
    { when: { agent: 'explorer', turn: 1, attempt: 1 }, reply: { fault: { status: 503, retryAfter: 0 } } },
    {
      when: { agent: 'explorer', turn: 1, prompt: '(\\w\\.txt)' },
      reply: { calls: [{ tool: 'read', args: { file_path: '{{match.1}}' } }] },
    },
    // Long enough for the lead to be suspended meanwhile.
    { when: { agent: 'explorer' }, reply: { text: 'seen: {{last}}', delayMs: 800 } },
    {
      when: { agent: 'lead', results: 1 },
      reply: { text: 'Both are back, in several words that stream.\n{{results}}', chunkMs: 1 },
    },
    { when: { agent: 'lead' }, reply: { text: 'waiting' } },
  ],
}

function newStage() {
  const home = newHome()
  home.put('a.txt', 'alpha\n')
  home.put('b.txt', 'beta\n')
  const put = (rules: Script) => `scripted:${home.put('s.yaml', JSON.stringify(rules))}`
  return { ...home, model: put(script), put }
}

const typesOf = (events: Event[]) => new Set(events.map(({ type }) => type))

describe('troupe run --json', () => {
  test('prints what the contract says and nothing else; a headless denial is 4', async () => {
    const { run, model } = newStage()
    const outcome = await run(['run', 'go', '--json', '--model', model])
    const events = eventsOf(outcome)
    expect(outcome.code).toBe(4)
    expect(events.at(-1)).toMatchObject({ status: 'done', denied: 2, text: expect.stringContaining('Both are back') })
    expect(events.at(-1)?.jobs).toEqual([
      { alias: 'exp-1', agent: 'explorer', generation: 1, state: 'completed', delivered: true },
      { alias: 'exp-2', agent: 'explorer', generation: 1, state: 'completed', delivered: true },
    ])
    for (const type of [
      'session.created session.activated session.suspended session.idle session.ended turn.started turn.ended',
      'text.delta thinking.delta message.added tool.started tool.finished permission.requested permission.resolved',
      'job.launched job.finished result.delivered model.retried run.finished',
    ]
      .join(' ')
      .split(' ')) {
      expect([...typesOf(events)]).toContain(type)
    }
    expect(events.filter(({ type }) => type === 'permission.requested')).toMatchObject([
      { kind: 'shell', detail: 'touch made.txt' },
      { kind: 'edit', detail: expect.stringMatching(/@@ .*\+new/s) },
    ])
    expect(
      events
        .filter(({ type }) => type === 'result.delivered')
        .map(({ alias, via }) => `${alias} ${via}`)
        .sort(),
    ).toEqual(['exp-1 pair', 'exp-2 call'])
    const controls = [...outcome.stdout].filter((character) => character < ' ' && character !== '\n')
    expect(controls).toEqual([])
  })

  test('with everything allowed ends with 0, and nothing is asked', async () => {
    const { run, model } = newStage()
    const outcome = await run(['run', 'go', '--json', '--permission', 'allow', '--model', model])
    const events = eventsOf(outcome)
    expect(outcome.code).toBe(0)
    expect(events.at(-1)).toMatchObject({ status: 'done', denied: 0 })
    expect([...typesOf(events)]).not.toContain('permission.requested')
  })

  test('at a limit ends with 3, and says which limit it was', async () => {
    const { run, put } = newStage()
    const endless = put({
      rules: [{ when: {}, reply: { calls: [{ tool: 'read', args: { file_path: '{{turn}}' } }] } }],
    })
    const outcome = await run(['run', 'go', '--json', '--max-turns', '3', '--model', endless])
    const events = eventsOf(outcome)
    expect(outcome.code).toBe(3)
    expect(events.at(-1)).toMatchObject({ status: 'limit' })
    expect(events.filter(({ type }) => type === 'limit.reached')).toMatchObject([{ limit: 'maxTurns', value: 3 }])
  })

  test('that fails ends with 1, and the reason is in its last event', async () => {
    const { run, put } = newStage()
    const outcome = await run([
      'run',
      'go',
      '--json',
      '--model',
      put({ rules: [{ when: { agent: 'nobody' }, reply: {} }] }),
    ])
    const events = eventsOf(outcome)
    expect(outcome.code).toBe(1)
    expect(events.at(-1)).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('rule') } })
  })

  test('that is stopped ends with 130, its last event all the same; resumed it goes on under the same ids', async () => {
    const { start, run, put } = newStage()
    const slow: Script = {
      rules: [
        {
          when: { agent: 'lead', turn: 1 },
          reply: { calls: [{ tool: 'task', args: { agent: 'explorer', prompt: 'x', background: true } }] },
        },
        { when: { agent: 'lead' }, reply: { text: 'waiting' } },
        { when: {}, reply: { text: 'long '.repeat(1000), chunkMs: 50 } },
      ],
    }
    const running = start(['run', 'go', '--json', '--session', 'stopped', '--model', put(slow)])
    await vi.waitFor(() => expect(running.stdout()).toMatch(/"session":"stopped-exp-1","type":"text\.delta"/), {
      timeout: 30_000,
    })
    running.child.kill('SIGTERM')
    const outcome = await running.finished
    const events = eventsOf(outcome)
    expect(outcome.code).toBe(130)
    expect(events.at(-1)).toMatchObject({ status: 'interrupted', jobs: [{ alias: 'exp-1', state: 'cancelled' }] })
    put({ rules: [{ when: {}, reply: { text: 'went on' } }] })
    const resumed = await run(['resume', 'stopped', 'and now', '--json'])
    expect(eventsOf(resumed).at(-1)).toMatchObject({ status: 'done', root: 'stopped', text: 'went on' })
    expect(resumed.code).toBe(0)
  })

  test('of wrong usage prints no event', async () => {
    const { run } = newStage()
    expect(await run(['run', 'go', '--json', '--model', 'scripted:none.yaml'])).toMatchObject({ code: 2, stdout: '' })
  })
})
