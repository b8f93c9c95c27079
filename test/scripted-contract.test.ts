import { describe, expect, onTestFinished, test } from 'vitest'
import { startScriptedServer } from '../src/index.ts'
import { createStage, createWorkplace, ofType, type Script, type Stage, type Workplace } from './support/workplace.ts'

/** A script seen from outside: what it plays when a whole runtime asks, in process and as a server. */
const ways = {
  'in process': async (_workplace: Workplace, path: string) => ({ model: `scripted:${path}`, servers: {} }),
  'over HTTP': async (_workplace: Workplace, path: string) => {
    const server = await startScriptedServer({ path })
    onTestFinished(() => server.close())
    return { model: 'ollama/scripted', servers: { ollama: { url: server.url, slots: 8 } } }
  },
}

describe.each(Object.entries(ways))('a script %s', (_way, open) => {
  async function stage(script: Script, config = {}, files: Record<string, string> = {}): Promise<Stage> {
    const workplace = createWorkplace(files)
    const { model, servers } = await open(workplace, workplace.script(script))
    return createStage(workplace, model, { host: 'inline', config: { servers, ...config } })
  }

  const said = ({ events }: Stage) =>
    ofType(events, 'message.added').flatMap(({ role, text }) => (role === 'assistant' ? [text] : []))

  test('answers with the first rule whose every condition holds', async () => {
    const { play } = await stage({
      rules: [
        { when: { agent: 'lead', depth: 1 }, reply: { text: 'one of two holds' } },
        { when: { agent: 'le?d', depth: 0 }, reply: { text: 'first' } },
        { when: {}, reply: { text: 'second' } },
      ],
    })
    expect((await play('go')).text).toBe('first')
  })

  test('compares turns: a number is equal, a text compares; prompt and turn hold for the whole session', async () => {
    const call = { tool: 'glob', args: { pattern: '{{turn}}-*' } }
    const one = await stage({
      rules: [
        { when: { turn: '>=6' }, reply: { text: 'too far' } },
        { when: { turn: '<2', last: 'user' }, reply: { text: 'a', calls: [call] } },
        { when: { turn: '<=2', last: 'glob', prompt: '^begin$' }, reply: { text: 'b', calls: [call] } },
        { when: { turn: 3 }, reply: { text: 'c', calls: [call] } },
        { when: { turn: '>3', text: '^next$', prompt: '^begin$', last: 'user' }, reply: { text: 'e' } },
        { when: { turn: '!=1', last: 'glob' }, reply: { text: 'd' } },
      ],
    })
    const { root } = await one.play('begin')
    await one.troupe.run({ prompt: 'next', session: root }).finished
    expect(said(one)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  test('numbers a retry as another attempt of the same turn', async () => {
    const one = await stage({
      rules: [
        { when: { turn: 1, attempt: 1 }, reply: { fault: { status: 503, retryAfter: 0 } } },
        { when: { turn: 1, attempt: 2 }, reply: { text: 'lost', fault: { cut: 0 } } },
        { when: { turn: 1, attempt: '>=3' }, reply: { text: 'turn {{turn}} at last' } },
      ],
    })
    expect((await one.play('go')).text).toBe('turn 1 at last')
    expect(ofType(one.events, 'model.retried').map(({ attempt }) => attempt)).toEqual([2, 3])
    expect(ofType(one.events, 'turn.started')).toHaveLength(1)
  })

  test('counts as results the pairs of the background, not the answers of calls', async () => {
    const task = (background: boolean) => ({ tool: 'task', args: { agent: 'explorer', prompt: 'x', background } })
    const { play } = await stage({
      rules: [
        { when: { agent: 'exp*', depth: '>=1' }, reply: { text: 'R of {{agent}}' } },
        { when: { turn: 1 }, reply: { calls: [task(false), task(true), task(true)] } },
        { when: { results: 2 }, reply: { text: '{{results}}' } },
        { when: { results: '<2' }, reply: { text: 'waiting' } },
      ],
    })
    expect((await play('go')).text.split('\n').sort()).toEqual(['exp-2: R of explorer', 'exp-3: R of explorer'])
  })

  test('fills templates wherever they stand in the arguments of a call', async () => {
    const todos = [{ content: '{{match.2}} before {{match.1}}', status: 'pending', priority: 'high' }]
    const one = await stage({
      rules: [
        { when: { turn: 1, prompt: '(\\w+) then (\\w+)' }, reply: { calls: [{ tool: 'todowrite', args: { todos } }] } },
        { when: {}, reply: { text: '{{prompt}}!' } },
      ],
    })
    expect((await one.play('read then write')).text).toBe('read then write!')
    expect(ofType(one.events, 'todo.updated').at(-1)?.todos).toMatchObject([{ content: 'write before read' }])
  })

  test.each([
    ['full', '70B', 'read', 'bash'],
    ['compact', '3B', 'read_file', 'shell'],
  ])('names tools in either way; %s for a model of %s', async (_toolset, parameters, read, shell) => {
    const one = await stage(
      {
        model: { parameters, context: 8192 },
        rules: [
          {
            when: { turn: 1, tools: [read, shell, 'grep'] },
            reply: { calls: [{ tool: 'read', args: { file_path: 'a.txt' } }] },
          },
          { when: { last: 'read', tools: ['read', 'bash'] }, reply: { text: '{{last}}' } },
        ],
      },
      {},
      { 'a.txt': 'alpha\n' },
    )
    expect(one.troupe.model.contextTokens).toBe(8192)
    expect((await one.play('go')).text).toContain('alpha')
  })

  test('reports the tokens that a reply names, summed over the tree', async () => {
    const { play } = await stage({
      rules: [
        {
          when: { turn: 1, depth: 0 },
          reply: {
            calls: [{ tool: 'task', args: { agent: 'explorer', prompt: 'x' } }],
            usage: { inputTokens: 100, outputTokens: 10 },
          },
        },
        { when: { depth: 1 }, reply: { text: 'R', usage: { inputTokens: 20, outputTokens: 2 } } },
        { when: {}, reply: { text: 'done', usage: { inputTokens: 3, outputTokens: 1 } } },
      ],
    })
    expect((await play('go')).usage).toEqual({ inputTokens: 123, outputTokens: 13 })
  })

  test('fails a request that no rule matches, at once, and prints its facts', async () => {
    const one = await stage({ rules: [{ when: { agent: 'nobody' }, reply: { text: 'x' } }] })
    const { status, error } = await one.play('the lost prompt')
    expect(status).toBe('failed')
    for (const fact of [
      'agent: "lead"',
      'depth: 0',
      'turn: 1',
      'attempt: 1',
      'purpose: "turn"',
      'last: "user"',
      'results: 0',
      'the lost prompt',
      '"task"',
    ])
      expect(error?.message).toContain(fact)
    expect(ofType(one.events, 'model.retried')).toEqual([])
  })

  test.each<[string, Script, number]>([
    ['delayMs', { rules: [{ when: {}, reply: { text: 'a', delayMs: 200 } }] }, 200],
    ['chunkMs, for each word', { rules: [{ when: {}, reply: { text: 'a b c d', chunkMs: 50 } }] }, 200],
    ['loadMs', { server: { loadMs: 200 }, rules: [{ when: {}, reply: { text: 'a' } }] }, 200],
    ['decodeTps', { server: { decodeTps: 10 }, rules: [{ when: {}, reply: { text: 'one two three four' } }] }, 200],
    ['prefillTps', { server: { prefillTps: 5000 }, rules: [{ when: {}, reply: { text: 'a' } }] }, 200],
  ])('takes the time that %s says, and not less', async (_field, script, leastMs) => {
    const one = await stage(script)
    await one.play('go')
    const [started, ended] = [ofType(one.events, 'turn.started')[0], ofType(one.events, 'turn.ended')[0]]
    // A timer may be a millisecond early.
    expect((ended?.at ?? 0) - (started?.at ?? 0)).toBeGreaterThanOrEqual(leastMs - 5)
  })

  test('of a model that cannot call tools says so before anything runs', async () => {
    const one = await stage({ model: { tools: false }, rules: [{ when: {}, reply: { text: 'only words' } }] })
    expect((await one.play('go')).text).toBe('only words')
    if (one.troupe.model.ref.startsWith('ollama')) expect(one.troupe.model.note).toMatch(/cannot call tools/)
  })
})
