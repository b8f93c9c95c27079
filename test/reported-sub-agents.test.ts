import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { PermissionAsk, RuntimeEvent, Troupe } from '../src/index.ts'
import { newHome } from './cli-process.ts'
import {
  createModelStage,
  line,
  type SentMessage,
  said,
  sayCalls,
  sayText,
  startModelServer,
} from './support/model-server.ts'
import { createStage, createWorkplace, ofType, type Script, type Workplace } from './support/workplace.ts'

/** Faults that users of other programs reported with sub-agents, C25 to C35, as far as no other test has them. */
const background = (agent: string, prompt: string) => ({ tool: 'task', args: { agent, prompt, background: true } })
const foreground = (agent: string, prompt: string) => ({ tool: 'task', args: { agent, prompt } })

describe('a question of a nested child (C25)', () => {
  const idleRoot: Script = {
    rules: [
      { when: { depth: 0, turn: 1 }, reply: { calls: [background('general', 'mid')] } },
      { when: { depth: 1, turn: 1 }, reply: { calls: [background('general', 'leaf')] } },
      {
        when: { depth: 2, turn: 1 },
        reply: {
          calls: [
            { tool: 'bash', args: { command: 'printf hi > made.txt' } },
            { tool: 'write', args: { file_path: 'note.txt', content: 'noted\n' } },
          ],
        },
      },
      { when: { depth: 2 }, reply: { text: 'leaf done' } },
      { when: { depth: 1, results: 1 }, reply: { text: 'mid done' } },
      { when: { depth: 0, results: 1 }, reply: { text: 'all done' } },
      { when: {}, reply: { text: 'waiting' } },
    ],
  }

  test('reaches whoever answers while every session above it is idle, once, with what it shows', async () => {
    const asked: PermissionAsk[] = []
    const { play } = await createStage(createWorkplace(), idleRoot, {
      config: { maxDepth: 2 },
      workers: 1,
      onAsk: async (ask) => {
        asked.push(ask)
        return { decision: 'once' }
      },
    })
    expect(await play('go')).toMatchObject({ status: 'done', text: 'all done', denied: 0 })
    expect(asked).toMatchObject([
      { kind: 'shell', depth: 2, agent: 'general', detail: 'printf hi > made.txt' },
      { kind: 'edit', depth: 2, agent: 'general', detail: expect.stringContaining('+noted') },
    ])
    expect(new Set(asked.map(({ id }) => id)).size).toBe(2)
  })

  test.each([
    { flags: [], code: 4, denied: 2, made: false },
    { flags: ['--permission', 'allow'], code: 0, denied: 0, made: true },
    { flags: ['--permission', 'edits', '--allow', 'bash:printf hi > made.txt'], code: 0, denied: 0, made: true },
    {
      flags: ['--permission', 'allow', '--deny', 'bash:printf *', '--deny', 'edit:*'],
      code: 0,
      denied: 0,
      made: false,
    },
  ])('is decided at every depth where nobody is asked: $flags', async ({ flags, code, denied, made }) => {
    const { home, run, put, dir } = newHome()
    mkdirSync(join(home, '.config/troupe'), { recursive: true })
    writeFileSync(join(home, '.config/troupe/config.yaml'), 'maxDepth: 2\n')
    const script = put('s.yaml', JSON.stringify(idleRoot))
    const outcome = await run(['run', 'go', '--json', '--model', `scripted:${script}`, ...flags])
    const last = JSON.parse(outcome.stdout.trimEnd().split('\n').at(-1) ?? '')
    expect({ code: outcome.code, denied: last.denied, text: last.text }).toEqual({ code, denied, text: 'all done' })
    expect([existsSync(join(dir, 'made.txt')), existsSync(join(dir, 'note.txt'))]).toEqual([made, made])
  })

  test('several children that ask at once are asked about one by one, and each gets its own answer', async () => {
    const script: Script = {
      rules: [
        {
          when: { depth: 0, turn: 1 },
          reply: { calls: ['a', 'b', 'c'].map((name) => background('general', name)) },
        },
        {
          when: { depth: 1, turn: 1, prompt: '^(.)$' },
          reply: { calls: [{ tool: 'bash', args: { command: 'touch {{match.1}}.txt' } }] },
        },
        { when: { depth: 1 }, reply: { text: '{{prompt}}: {{last}}' } },
        { when: { results: 3 }, reply: { text: '{{results}}' } },
        { when: {}, reply: { text: 'waiting' } },
      ],
    }
    const { play } = await createStage(createWorkplace(), script, {
      onAsk: async ({ detail }) =>
        detail.includes('b.txt') ? { decision: 'reject', text: 'not this one' } : { decision: 'once' },
    })
    const { text, denied } = await play('go')
    expect(text.match(/not this one/g)).toHaveLength(1)
    expect(text).toMatch(/b: .*not this one/)
    expect(denied).toBe(0)
  })
})

describe('a result for an idle parent (C26)', () => {
  const wakeFails = (fault: object, attempt?: number): Script => ({
    rules: [
      { when: { agent: 'lead', turn: 1 }, reply: { calls: [background('explorer', 'look')] } },
      { when: { agent: 'explorer' }, reply: { text: 'R1', delayMs: 150 } },
      { when: { agent: 'lead', results: 0 }, reply: { text: 'waiting' } },
      { when: { agent: 'lead', turn: 3, results: 1, ...(attempt && { attempt }) }, reply: { fault } },
      { when: { agent: 'lead', results: '>=2' }, reply: { text: 'twice!' } },
      { when: { agent: 'lead', results: 1 }, reply: { text: 'got {{results}}' } },
    ],
  })

  test.each([
    ['fails', { status: 503, retryAfter: 0 }],
    ['is cut off', { cut: 0 }],
    ['brings garbage', { garbage: 0 }],
  ])('arrives once although the first try to wake the parent %s', async (_what, fault) => {
    const { play, events } = await createStage(createWorkplace(), wakeFails(fault, 1))
    expect((await play('go')).text).toBe('got exp-1: R1')
    expect(ofType(events, 'result.delivered')).toHaveLength(1)
  })

  test('is kept when the parent cannot be woken at all, and is there once when it goes on', async () => {
    const workplace = createWorkplace()
    const script = wakeFails({ status: 400 })
    const { troupe, play } = await createStage(workplace, script)
    const failed = await play('go')
    expect(failed).toMatchObject({ status: 'failed', jobs: [{ alias: 'exp-1', state: 'completed' }] })
    const again = await troupe.run({ prompt: 'and now?', session: failed.root }).finished
    expect(again).toMatchObject({ status: 'done', text: 'got exp-1: R1' })
    expect(again.jobs).toMatchObject([{ alias: 'exp-1', delivered: true }])
    expect(placed(workplace, failed.root)).toEqual(['exp-1#1'])
  })
})

describe('children that finish at any time (C27)', () => {
  test.each([1, 2, 3])('19 of them: 19 results, each once (%i)', async (seed) => {
    const delay = (index: number) => ((index * 7919 + seed * 104_729) % 300) + 1
    const script: Script = {
      rules: [
        {
          when: { agent: 'lead', turn: 1 },
          reply: { calls: Array.from({ length: 19 }, (_, index) => background('explorer', `n${index}`)) },
        },
        ...Array.from({ length: 19 }, (_, index) => ({
          when: { agent: 'explorer', prompt: `^n${index}$` },
          reply: { text: `R${index}`, delayMs: delay(index) },
        })),
        { when: { agent: 'lead', results: 19 }, reply: { text: '{{results}}' } },
        // Busy with a call, busy with the model, idle: by turns.
        { when: { agent: 'lead', turn: 2 }, reply: { calls: [{ tool: 'glob', args: { pattern: '*' } }], delayMs: 40 } },
        { when: { agent: 'lead', turn: 3 }, reply: { text: 'thinking', delayMs: 90 } },
        { when: { agent: 'lead' }, reply: { text: 'waiting', delayMs: 5 } },
      ],
    }
    const workplace = createWorkplace()
    const { play } = await createStage(workplace, script)
    const { text, jobs, root } = await play('go')
    const seen = text.split('\n').map((one) => one.replace(/^exp-\d+: /, ''))
    expect(seen.sort()).toEqual(Array.from({ length: 19 }, (_, index) => `R${index}`).sort())
    expect(jobs.every(({ delivered }) => delivered)).toBe(true)
    expect(new Set(placed(workplace, root)).size).toBe(19)
    expect(placed(workplace, root)).toHaveLength(19)
  })

  test('while the parent is suspended: at a question, and at a child in the foreground', async () => {
    const script: Script = {
      rules: [
        {
          when: { agent: 'lead', turn: 1 },
          reply: {
            calls: [
              background('explorer', 'quick'),
              { tool: 'bash', args: { command: 'touch asked' } },
              foreground('explorer', 'slow'),
            ],
          },
        },
        { when: { prompt: 'quick' }, reply: { text: 'Q' } },
        { when: { prompt: 'slow' }, reply: { text: 'S', delayMs: 300 } },
        { when: { agent: 'lead', results: 1 }, reply: { text: '{{results}}, then turn {{turn}}' } },
        { when: { agent: 'lead' }, reply: { text: 'waiting' } },
      ],
    }
    const stage = await createStage(createWorkplace(), script, {
      onAsk: async () => {
        await until(
          stage.troupe,
          stage.events,
          ({ type, session }) => type === 'session.ended' && session.endsWith('exp-1'),
        )
        return { decision: 'once' }
      },
    })
    expect((await stage.play('go')).text).toBe('exp-1: Q, then turn 2')
  })
})

test('a completion is told once: one prompt in the child, one message and one wake of the parent (C28)', async () => {
  const script: Script = {
    rules: [
      { when: { agent: 'lead', turn: 1 }, reply: { calls: [background('explorer', 'look')] } },
      {
        when: { agent: 'explorer', turn: 1 },
        reply: { calls: [{ tool: 'glob', args: { pattern: '*' } }], delayMs: 100 },
      },
      { when: { agent: 'explorer' }, reply: { text: 'R' } },
      { when: { agent: 'lead', results: 1 }, reply: { text: 'got it' } },
      { when: { agent: 'lead' }, reply: { text: 'waiting' } },
    ],
  }
  const workplace = createWorkplace()
  const { play, events } = await createStage(workplace, script)
  const { root } = await play('go')
  const received = (session: string) =>
    recordsOf(workplace, root, session).filter(({ type }) => type === 'message.received')
  expect(received(`${root}-exp-1`)).toHaveLength(1)
  expect(received(root).map(({ message }) => message?.kind)).toEqual(['user', 'result'])
  expect(ofType(events, 'turn.started').filter(({ session }) => session === root)).toHaveLength(3)
  for (const type of ['job.launched', 'job.finished', 'result.delivered'] as const)
    expect(ofType(events, type)).toHaveLength(1)
})

describe('agents that send agents without end (C30)', () => {
  test('five at a time, in the background: stopped by depth and by number, the run ends', async () => {
    const five = Array.from({ length: 5 }, (_, index) => background('general', `again ${index}`))
    const script: Script = {
      rules: [
        { when: { last: 'user' }, reply: { calls: five } },
        { when: {}, reply: { text: 'back' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script, {
      config: { denyAtDepth: [], maxDepth: 3, limits: { maxChildrenTotal: 40 } },
    })
    const { status, jobs } = await play('go')
    expect(status).toBe('done')
    expect(ofType(events, 'session.created')).toHaveLength(41)
    expect(Math.max(...ofType(events, 'session.created').map(({ depth }) => depth))).toBeLessThanOrEqual(3)
    expect(jobs.every(({ delivered, state }) => delivered && state === 'completed')).toBe(true)
  })

  test('two agents that send each other: stopped by depth', async () => {
    const script: Script = {
      rules: [
        { when: { last: 'user', agent: 'ping' }, reply: { calls: [foreground('pong', 'your turn')] } },
        { when: { last: 'user', agent: 'pong' }, reply: { calls: [foreground('ping', 'your turn')] } },
        { when: {}, reply: { text: '{{agent}}: {{last}}' } },
      ],
    }
    const agents = ['ping', 'pong'].map((name) => ({ name, description: name, prompt: name, mode: 'all' as const }))
    const { play, events } = await createStage(createWorkplace(), script, { agents, config: { maxDepth: 4 } })
    expect(await play('go', 'ping')).toMatchObject({ status: 'done' })
    expect(ofType(events, 'session.created').map(({ agent }) => agent)).toEqual([
      'ping',
      'pong',
      'ping',
      'pong',
      'ping',
    ])
  })
})

test('cancelling closes the connections to the model of every session under it (C31)', async () => {
  const server = await startModelServer((response, { depth, turn }) => {
    if (depth === 0 && turn === 1) {
      sayCalls(
        response,
        ...['A', 'B', 'C'].map((prompt): [string, unknown] => [
          'task',
          { agent: 'explorer', prompt, background: true },
        ]),
      )
    } else if (depth === 0) sayText(response, 'waiting')
    else {
      response.setHeader('content-type', 'application/x-ndjson')
      response.write(line(said({ content: 'and so on ' })))
    }
  })
  const { troupe, events } = await createModelStage(server)
  const run = troupe.run({ prompt: 'go' })
  await until(troupe, events, () => new Set(ofType(events, 'text.delta').map(({ session }) => session)).size === 4)
  const turns = ofType(events, 'turn.started').length
  await Promise.all([run.cancel(), run.cancel()])
  const finished = await run.finished
  await Promise.all(server.asked.filter(({ depth }) => depth === 1).map(({ closed }) => closed))
  expect(finished).toMatchObject({ status: 'interrupted' })
  expect(finished.jobs.map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'cancelled'])
  expect(ofType(events, 'turn.started')).toHaveLength(turns)
  await run.cancel()
})

describe('a call that was cancelled (C35)', () => {
  const begin = 'echo begun > begun; sleep 64'

  /** What the model is sent after the turn was stopped and the user has said "continue". */
  const goesOn = async (calls: [string, unknown][], isAsked: boolean): Promise<SentMessage[]> => {
    const server = await startModelServer((response, { turn }) => {
      if (turn === 1) sayCalls(response, ...calls)
      else sayText(response, 'went on')
    })
    const { troupe, events, workplace } = await createModelStage(
      server,
      { permission: isAsked ? 'ask' : 'allow', onAsk: () => new Promise(() => undefined) },
      createWorkplace({ 'a.txt': 'alpha\n' }),
    )
    const run = troupe.run({ prompt: 'go' })
    if (isAsked) await until(troupe, events, ({ type }) => type === 'session.suspended')
    else await until(troupe, events, () => isFinished(events, 'read') && isStarted(events, 'bash'))
    while (!isAsked && !existsSync(join(workplace.dir, 'begun'))) await pause(5)
    await run.interrupt()
    await run.finished
    await troupe.run({ prompt: 'continue', session: run.session }).finished
    return server.asked.at(-1)?.messages ?? []
  }

  test.each<[string, [string, unknown][], boolean, RegExp[]]>([
    [
      'while it ran',
      [
        ['read', { file_path: 'a.txt' }],
        ['bash', { command: begin }],
      ],
      false,
      [/alpha/, /interrupted while it ran/],
    ],
    [
      'behind one that ran',
      [
        ['bash', { command: begin }],
        ['write', { file_path: 'b.txt', content: 'b' }],
        ['read', { file_path: 'a.txt' }],
      ],
      false,
      [/interrupted while it ran/, /cancelled before it started/, /alpha/],
    ],
    [
      'at its question',
      [
        ['read', { file_path: 'a.txt' }],
        ['bash', { command: 'touch never' }],
      ],
      true,
      [/alpha/, /cancelled before it started/],
    ],
  ])('%s has one result, true to what happened, right behind its message', async (_when, calls, isAsked, results) => {
    const messages = await goesOn(calls, isAsked)
    const at = messages.findIndex(({ tool_calls }) => tool_calls)
    expect(messages[at]?.tool_calls).toHaveLength(calls.length)
    const answers = messages.slice(at + 1, at + 1 + calls.length)
    expect(answers.map(({ role, tool_name }) => [role, tool_name])).toEqual(calls.map(([tool]) => ['tool', tool]))
    for (const [index, result] of results.entries()) expect(answers[index]?.content).toMatch(result)
    expect(messages[at + 1 + calls.length]).toMatchObject({
      role: 'user',
      content: expect.stringContaining('continue'),
    })
    expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(calls.length)
  })

  test.each([0, 1, 2, 4, 8, 12, 16, 24])(
    'while its session was about to suspend (%i ms after its last result) does not hang the run',
    async (delayMs) => {
      const script: Script = {
        rules: [
          {
            when: { turn: 1 },
            reply: {
              calls: [
                { tool: 'read', args: { file_path: 'a.txt' } },
                { tool: 'bash', args: { command: 'touch never' } },
              ],
            },
          },
          { when: {}, reply: { text: 'went on' } },
        ],
      }
      const stage = await createStage(createWorkplace({ 'a.txt': 'alpha\n' }), script, {
        onAsk: () => new Promise(() => undefined),
      })
      const run = stage.troupe.run({ prompt: 'go' })
      await until(stage.troupe, stage.events, () => isFinished(stage.events, 'read'))
      await pause(delayMs)
      await run.interrupt()
      await run.finished
      const again = await stage.troupe.run({ prompt: 'continue', session: run.session }).finished
      expect(again).toMatchObject({ status: 'done', text: 'went on' })
    },
  )

  test('because its child went on in the background has that as its result, and the child is delivered besides', async () => {
    let answerChild = () => {}
    const server = await startModelServer((response, { depth, turn }) => {
      if (depth === 1) answerChild = () => sayText(response, 'R')
      else if (turn === 1) sayCalls(response, ['task', { agent: 'explorer', prompt: 'long' }])
      else sayText(response, 'went on')
    })
    const { troupe, events } = await createModelStage(server)
    const run = troupe.run({ prompt: 'go' })
    await until(troupe, events, ({ type, session, root }) => type === 'turn.started' && session !== root)
    while (server.asked.length < 2) await pause(5)
    await run.interrupt()
    answerChild()
    expect(await run.finished).toMatchObject({
      status: 'done',
      text: 'went on',
      jobs: [{ state: 'completed', delivered: true }],
    })
    const messages = server.asked.at(-1)?.messages ?? []
    const calls = messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map((call) => call.function.name))
    expect(calls).toEqual(['task', 'sub_agent_result'])
    expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      expect.stringMatching(/background/),
      expect.stringMatching(/R/),
    ])
  })
})

type Line = { type: string; message?: { kind: string; alias?: string; generation?: number } }

function recordsOf({ dataDir }: Workplace, root: string, session: string): Line[] {
  const text = readFileSync(join(dataDir, 'sessions', root, `${session}.jsonl`), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((record) => JSON.parse(record))
}

/** `alias#generation` of every result that was put into the root's mailbox. */
function placed(workplace: Workplace, root: string): string[] {
  return recordsOf(workplace, root, root).flatMap(({ message }) =>
    message?.kind === 'result' ? [`${message.alias}#${message.generation}`] : [],
  )
}

const isStarted = (events: RuntimeEvent[], tool: string) =>
  ofType(events, 'tool.started').some((event) => event.tool === tool)
const isFinished = (events: RuntimeEvent[], tool: string) =>
  ofType(events, 'tool.finished').some((event) => event.tool === tool)

function until(troupe: Troupe, events: RuntimeEvent[], matches: (event: RuntimeEvent) => boolean): Promise<void> {
  if (events.some(matches)) return Promise.resolve()
  return new Promise((resolve) => troupe.events.subscribe((event) => matches(event) && resolve()))
}
