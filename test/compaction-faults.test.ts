import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { program, watch } from './cli-process.ts'
import { type Overheard, overhear, tokensSent } from './support/overheard.ts'
import { createStage, createWorkplace, ofType, type Script, type Workplace } from './support/workplace.ts'

const pages = 6
const contextTokens = 8192
const session = 'long-one'
const filler = Array.from(
  { length: 60 },
  (_, n) => `export const value${n} = 'some text that takes room' // ${n}`,
).join('\n')
const files = Object.fromEntries(Array.from({ length: pages }, (_, n) => [`f${n + 2}.ts`, `// ${n + 2}\n${filler}`]))
const todos = [{ content: 'read all files', status: 'in_progress', priority: 'high' }]

/** A session that needs several compactions, with a child whose result is not there at the first of them. */
function longSession(compaction: object, childMs: number): Script {
  return {
    model: { context: contextTokens, parameters: '70B', tools: true },
    rules: [
      { when: { purpose: 'compaction' }, reply: compaction },
      {
        when: { agent: 'lead', turn: 1 },
        reply: {
          calls: [
            { tool: 'todowrite', args: { todos } },
            { tool: 'task', args: { agent: 'explorer', prompt: 'slow', background: true } },
          ],
        },
      },
      { when: { agent: 'explorer' }, reply: { text: 'the child is back', delayMs: childMs } },
      {
        when: { agent: 'lead', turn: `<=${pages + 1}` },
        reply: { text: 'next', calls: [{ tool: 'read', args: { file_path: 'f{{turn}}.ts' } }] },
      },
      { when: { agent: 'lead', results: 1 }, reply: { text: 'all read: {{results}}' } },
      { when: { agent: 'lead' }, reply: { text: 'waiting' } },
    ],
  }
}

const good = { text: 'I read one file after the other.' }

function summariesOf({ dataDir }: Workplace, root: string): string[] {
  const lines = readFileSync(join(dataDir, 'sessions', root, `${root}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  const records = lines.map((line) => JSON.parse(line) as { type: string; summary?: string })
  return records.flatMap(({ type, summary = '' }) => (type === 'history.compacted' ? [summary] : []))
}

function expectAllFit(requests: Overheard[]): void {
  for (const request of requests) expect(tokensSent(request)).toBeLessThanOrEqual(request.numCtx)
}

describe('a compaction', () => {
  test.each([
    ['is refused', { fault: { status: 400 } }],
    ['fails on the server, again and again', { fault: { status: 503, retryAfter: 0 } }],
    ['never begins', { fault: { hang: true } }],
    ['stops in the middle', { text: 'word '.repeat(50), fault: { stall: 2 } }],
    ['breaks off', { text: 'word '.repeat(50), fault: { cut: 2 } }],
    ['is garbage', { text: 'word '.repeat(50), fault: { garbage: 1 } }],
    ['says nothing', { text: '' }],
    ['calls a tool instead', { text: '', calls: [{ tool: 'read', args: { file_path: 'f2.ts' } }] }],
    ['goes on without end', { text: 'nonsense '.repeat(20_000) }],
  ])('that %s leaves the session with its task, list and jobs, and it goes on', async (_, reply) => {
    const workplace = createWorkplace(files)
    const script = longSession(reply, 0)
    const { requests, options } = await overhear(workplace, script)
    const config = { servers: { ollama: { slots: 4, firstByteMs: 400, silenceMs: 400 } } }
    const { play, events } = await createStage(workplace, script, { ...options, config })
    const finished = await play('Read all files.')
    expect(finished.status).toBe('done')
    expect(finished.jobs).toMatchObject([{ delivered: true }])
    expect(ofType(events, 'turn.ended').filter(({ error, session: of }) => error && of === finished.root)).toEqual([])
    const summaries = summariesOf(workplace, finished.root)
    expect(summaries.length).toBeGreaterThan(0)
    for (const summary of summaries) {
      expect(summary).toContain('[in_progress] read all files')
      expect(summary).toMatch(/^Files you have read or changed: .*f\d+\.ts$/m)
    }
    expectAllFit(requests)
    expect(new Set(readPaths(requests))).toEqual(new Set(Object.keys(files)))
  })

  test('during which the program is killed is made again, and nothing is lost', async () => {
    const workplace = createWorkplace(files)
    const { requests, options, rewrite } = await overhear(workplace, longSession({ fault: { hang: true } }, 60_000))
    const start = (...args: string[]) =>
      watch(
        spawn(process.execPath, [program, ...args, '--json'], {
          cwd: workplace.dir,
          env: options.env,
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      )
    const first = start('run', 'Read all files.', '--session', session, '--model', options.model)
    const compacting = () => requests.some(({ purpose }) => purpose === 'compaction')
    await vi.waitFor(() => expect(compacting()).toBe(true), { timeout: 30_000 })
    first.child.kill('SIGKILL')
    await first.finished
    expect(summariesOf(workplace, session)).toEqual([])
    rewrite(longSession(good, 300))
    const { code, stdout } = await start('resume', session).finished
    expect(code).toBe(0)
    const finished = JSON.parse(stdout.trim().split('\n').at(-1)!)
    expect(finished).toMatchObject({ type: 'run.finished', status: 'done' })
    expect(finished.jobs).toMatchObject([{ alias: 'exp-1', state: 'completed', delivered: true }])
    expect(requests.some(({ agent, body }) => agent === 'lead' && body.includes('the child is back'))).toBe(true)
    const summaries = summariesOf(workplace, session)
    expect(summaries.length).toBeGreaterThanOrEqual(1)
    for (const summary of summaries) expect(summary).toContain('[in_progress] read all files')
    expect(new Set(readPaths(requests))).toEqual(new Set(Object.keys(files)))
    expectAllFit(requests)
  })
})

/** The files whose contents the lead was sent. */
function readPaths(requests: Overheard[]): string[] {
  const bodies = requests.filter(({ agent }) => agent === 'lead').map(({ body }) => body)
  return Object.keys(files).filter((path) => bodies.some((body) => body.includes(`// ${path.slice(1, -3)}\\n`)))
}
