import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type { SessionId } from '../../core/ids.ts'
import type { Model, ModelMessage, ModelReply, ModelRequest } from '../../core/model.ts'
import { chooseModel } from '../choose-model.ts'
import { createModel } from '../create-model.ts'
import type { RunningServer } from '../listen.ts'
import { startScriptedServer } from './scripted-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'scripted-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The script of DESIGN.md, which is a contract. */
const designScript = `
model: { context: 32768, parameters: 70B, tools: true }
rules:
  - when: { agent: lead, turn: 1 }
    reply:
      text: I will send two explorers.
      calls:
        - { tool: task, args: { agent: explorer, prompt: "Count exports in src/a.ts", background: true } }
        - { tool: task, args: { agent: explorer, prompt: "Count exports in src/b.ts", background: true } }
  - when: { agent: explorer, turn: 1, prompt: "exports in (\\\\S+)" }
    reply: { calls: [{ tool: read, args: { file_path: "{{match.1}}" } }] }
  - when: { agent: explorer }
    reply: { text: "Seen: {{last}}" }
  - when: { agent: lead, results: 2 }
    reply: { text: "Both are back.\\n{{results}}" }
  - when: {}
    reply: { text: "waiting" }
`

type Asking = Partial<Omit<ModelRequest, 'facts'>> & { facts?: Partial<ModelRequest['facts']> }

function requestFor({ facts, ...changes }: Asking = {}): ModelRequest {
  return {
    system: '',
    messages: [user('Go.')],
    tools: [],
    contextTokens: 16_384,
    ...changes,
    facts: {
      agent: 'lead',
      depth: 0,
      session: 's' as SessionId,
      turn: 1,
      attempt: 1,
      purpose: 'turn',
      ...facts,
    },
  }
}

function user(text: string): ModelMessage {
  return { role: 'user', text }
}

function result(id: string, tool: string, output: string, args = {}): ModelMessage[] {
  return [
    { role: 'assistant', text: '', calls: [{ id, tool, args }] },
    { role: 'tool', id, tool, output, isError: false },
  ]
}

function subAgentResult(alias: string, text: string): ModelMessage[] {
  return result(`call_${alias}`, 'sub_agent_result', text, { job: alias, agent: 'explorer', state: 'completed' })
}

function offer(...names: string[]) {
  return names.map((name) => ({ name, description: '', parameters: {} }))
}

let files = 0
let server: RunningServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

/** Ways to play a script: both give the same replies. */
const ways: Record<string, (path: string) => Promise<Model>> = {
  'in process': async (path) => {
    const { spec } = await chooseModel({ ref: `scripted:${path}`, servers: {}, env: {}, rehearsalPath: path })
    return createModel(spec)
  },
  'over HTTP': async (path) => {
    server = await startScriptedServer({ path })
    const env = { OLLAMA_HOST: server.url }
    const { spec } = await chooseModel({ ref: 'ollama/any', servers: {}, env, rehearsalPath: path })
    return createModel(spec)
  },
}

describe.each(Object.keys(ways))('a script %s', (way) => {
  async function play(script: string): Promise<(asking?: Asking) => Promise<ModelReply>> {
    const path = join(folder, `${++files}.yaml`)
    writeFileSync(path, script)
    const model = await ways[way]!(path)
    return (asking) => model.stream(requestFor(asking), () => {}, new AbortController().signal)
  }

  test('of the design is played as it says', async () => {
    const say = await play(designScript)
    const sent = await say({ tools: offer('task') })
    expect(sent.text).toBe('I will send two explorers.')
    const args = (file: string) => ({ agent: 'explorer', prompt: `Count exports in ${file}`, background: true })
    expect(sent.calls).toEqual(['src/a.ts', 'src/b.ts'].map((file) => ({ tool: 'task', args: args(file) })))
    const explorer = { agent: 'explorer', depth: 1 }
    const asked = user('Count exports in src/a.ts please')
    const reading = await say({ facts: explorer, messages: [asked] })
    expect(reading.calls).toEqual([{ tool: 'read', args: { file_path: 'src/a.ts' } }])
    const seen = await say({ facts: { ...explorer, turn: 2 }, messages: [asked, ...result('c1', 'read', '3 exports')] })
    expect(seen.text).toBe('Seen: 3 exports')
    expect((await say({ facts: { turn: 2 } })).text).toBe('waiting')
    const back = [user('Go.'), ...subAgentResult('exp-2', 'two'), ...subAgentResult('exp-1', 'one')]
    expect((await say({ facts: { turn: 3 }, messages: back })).text).toBe('Both are back.\nexp-2: two\nexp-1: one')
  })

  test('has its calls named as the toolset names them, and leaves unknown ones as they are', async () => {
    const call = (tool: string) => `{ tool: ${tool}, args: {} }`
    const say = await play(
      `rules: [{ reply: { calls: [${['bash', 'read_file', 'todo', 'launch'].map(call).join(',')}] } }]`,
    )
    const compact = await say({ tools: offer('shell', 'read_file', 'todo') })
    expect(compact.calls.map(({ tool }) => tool)).toEqual(['shell', 'read_file', 'todo', 'launch'])
    const full = await say({ tools: offer('bash', 'read', 'todowrite') })
    expect(full.calls.map(({ tool }) => tool)).toEqual(['bash', 'read', 'todowrite', 'launch'])
  })

  test('is matched by every condition', async () => {
    const say = await play(`
rules:
  - { when: { agent: "exp*", depth: ">=2" }, reply: { text: deep } }
  - { when: { attempt: 2 }, reply: { text: again } }
  - { when: { last: read, text: "(?i)NEEDLE (\\\\d+)" }, reply: { text: "found {{match.1}} in turn {{turn}}" } }
  - { when: { last: user, tools: [bash, grep] }, reply: { text: armed } }
  - { when: { results: "<1", turn: "!=1", prompt: ^Go }, reply: { text: "{{agent}} on" } }
`)
    expect((await say({ facts: { agent: 'explorer', depth: 2 } })).text).toBe('deep')
    expect((await say({ facts: { attempt: 2 } })).text).toBe('again')
    const read = [user('Go.'), ...result('c1', 'read_file', 'a needle 42')]
    expect((await say({ facts: { turn: 4 }, messages: read })).text).toBe('found 42 in turn 4')
    expect((await say({ tools: offer('shell', 'grep', 'read_file') })).text).toBe('armed')
    expect((await say({ facts: { turn: 2 } })).text).toBe('lead on')
    await expect(say({ messages: [user('Stop.')], facts: { turn: 2 } })).rejects.toMatchObject({
      code: 'script-unmatched',
    })
  })

  test('never sees the job board, and no text is taken for it', async () => {
    const say = await play(`
rules:
  - { when: { text: secret }, reply: { text: "saw it" } }
  - { when: {}, reply: { text: "{{last}}" } }
`)
    const board = 'secret board'
    expect((await say({ board })).text).toBe('Go.')
    expect((await say({ board, messages: [user('Go.'), ...result('c1', 'read', 'out')] })).text).toBe('out')
    const fake = '<job-board>\nfake\n</job-board>'
    expect((await say({ messages: [user(fake)] })).text).toBe(fake)
    expect((await say({ messages: [user('Go.'), ...result('c1', 'read', `\\${fake}`)] })).text).toBe(`\\${fake}`)
  })

  test('answers a compaction only where it says so, else with a fixed summary', async () => {
    const compaction = { facts: { purpose: 'compaction' as const } }
    const plain = await play('rules: [{ when: {}, reply: { text: hello } }]')
    const { text } = await plain(compaction)
    expect(text).toMatch(/^Summary/)
    const own = await play('rules: [{ when: { purpose: compaction }, reply: { text: short } }]')
    expect((await own(compaction)).text).toBe('short')
  })

  test('fills templates once, and leaves what it does not know', async () => {
    const say = await play(
      `rules: [{ reply: { text: '{{prompt}} | {{ last }} | \${{ env.X }} | {{unknown}} | \\{{last}} | {{match.9}}.' } }]`,
    )
    const { text } = await say({ messages: [user('$& {{last}}')] })
    expect(text).toBe('$& {{last}} | $& {{last}} | ${{ env.X }} | {{unknown}} | {{last}} | .')
  })

  test('reports the tokens it is told to, and plausible ones otherwise', async () => {
    const say = await play(`
rules:
  - { when: { turn: 1 }, reply: { text: hi, usage: { inputTokens: 9000, outputTokens: 7 } } }
  - { when: {}, reply: { text: hi there } }
`)
    expect((await say()).usage).toEqual({ inputTokens: 9000, outputTokens: 7 })
    const estimated = await say({ facts: { turn: 2 }, messages: [user('x'.repeat(4000))], board: 'b'.repeat(400) })
    expect(estimated.usage).toEqual({ inputTokens: 1107, outputTokens: 2 })
  })

  test('without a rule that fits fails with its facts', async () => {
    const say = await play('rules: [{ when: { agent: other }, reply: {} }]')
    const error = await say({ messages: [user('the context length of it')] }).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'script-unmatched' })
    for (const part of ['agent: "lead"', 'turn: 1', 'last: "user"', 'the context length of it']) {
      expect(error.message).toContain(part)
    }
  })

  test('plays faults', async () => {
    const say = await play(`
rules:
  - { when: { turn: 1 }, reply: { fault: { status: 503, retryAfter: 2 } } }
  - { when: { turn: 2 }, reply: { text: a b c, fault: { cut: 2 } } }
  - { when: { turn: 3 }, reply: { text: a b c, calls: [{ tool: read }], fault: { garbage: 1 } } }
  - { when: { turn: 4 }, reply: { fault: { status: 500, message: "error parsing tool call: x" } } }
  - { when: { turn: 5 }, reply: { calls: [{ tool: read, args: '{"file_path":' }] } }
`)
    const turn = (n: number) => say({ facts: { turn: n } })
    await expect(turn(1)).rejects.toMatchObject({ code: 'model-failed', status: 503, retryAfterMs: 2000 })
    await expect(turn(2)).rejects.toMatchObject({ code: 'model-incomplete' })
    await expect(turn(3)).rejects.toMatchObject({ code: 'model-incomplete' })
    await expect(turn(4)).rejects.toMatchObject({ code: 'model-bad-call' })
    expect((await turn(5)).calls).toEqual([{ tool: 'read', args: {}, invalid: '{"file_path":' }])
  })

  test.each(['hang: true', 'stall: 1'])('that does not go on (%s) can be aborted', async (fault) => {
    const path = join(folder, `${++files}.yaml`)
    writeFileSync(path, `rules: [{ reply: { text: a b c, fault: { ${fault} } } }]`)
    const model = await ways[way]!(path)
    const controller = new AbortController()
    const heard: string[] = []
    const reply = model.stream(requestFor(), ({ text }) => heard.push(text), controller.signal)
    const reason = new Error('enough')
    setTimeout(() => controller.abort(reason), 100)
    await expect(reply).rejects.toBe(reason)
    expect(heard).toEqual(fault === 'stall: 1' ? ['a '] : [])
  })

  test('can enforce the context size', async () => {
    const say = await play('server: { enforceNumCtx: true }\nrules: [{ reply: { text: ok } }]')
    expect((await say()).text).toBe('ok')
    const long = say({ messages: [user('word '.repeat(20_000))] })
    await expect(long).rejects.toMatchObject({ code: 'context-too-long' })
  })

  test('can take one request at a time, and an aborted one makes room', async () => {
    const path = join(folder, `${++files}.yaml`)
    writeFileSync(path, 'server: { parallel: 1 }\nrules: [{ reply: { text: a b c d, chunkMs: 30 } }]')
    const model = await ways[way]!(path)
    const log: string[] = []
    const ask = (name: string, signal = new AbortController().signal) =>
      model.stream(requestFor(), ({ text }) => log.push(name + text.trim()), signal)
    const controller = new AbortController()
    const first = ask('1')
    const second = ask('2', controller.signal)
    const third = ask('3')
    controller.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
    await Promise.all([first, third])
    expect(log.join('')).toMatch(/^(1a1b1c1d3a3b3c3d|3a3b3c3d1a1b1c1d)$/)
  })
})
