import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { overhear, tokensSent } from './support/overheard.ts'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

const filler = Array.from(
  { length: 60 },
  (_, index) => `export const value${index} = 'some text that takes room in the context' // ${index}`,
).join('\n')

describe('a session longer than its context', () => {
  test('ends its task after 100 turns with its todos and jobs intact, across compactions', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`f${index + 1}.ts`, `// ${index + 1}\n${filler}`]),
    )
    const script = {
      model: { context: 8000, parameters: '70B', tools: true },
      rules: [
        { when: { purpose: 'compaction' }, reply: { text: 'I am reading one file after the other.' } },
        {
          when: { agent: 'lead', turn: 1 },
          reply: {
            calls: [
              {
                tool: 'todowrite',
                args: { todos: [{ content: 'read all files', status: 'in_progress', priority: 'high' }] },
              },
              { tool: 'task', args: { agent: 'explorer', prompt: 'slow', background: true } },
            ],
          },
        },
        { when: { agent: 'explorer' }, reply: { text: 'the child is back', delayMs: 2000 } },
        {
          when: { agent: 'lead', turn: '<100' },
          reply: { calls: [{ tool: 'read', args: { file_path: 'f{{turn}}.ts' } }] },
        },
        { when: { agent: 'lead', results: 1 }, reply: { text: 'done, with {{results}}' } },
        { when: { agent: 'lead' }, reply: { text: 'waiting for the child' } },
      ],
    }
    const workplace = createWorkplace(files)
    const { play, events } = await createStage(workplace, script)
    const finished = await play('Read all files, then say done.')
    expect(finished.status).toBe('done')
    expect(finished.jobs).toMatchObject([{ state: 'completed', delivered: true }])
    const compacted = summaries(workplace.dataDir, finished.root)
    expect(compacted.length).toBeGreaterThanOrEqual(3)
    // The child is at work until its result is placed: each summary before that tells of it, and none after.
    const delivered = deliveredAt(workplace.dataDir, finished.root)
    for (const { seq, summary } of compacted) {
      expect(summary).toContain('[in_progress] read all files')
      expect(summary).toContain('one file after the other')
      expect(summary).toMatch(/^Files you have read or changed: .*f\d+\.ts$/m)
      expect(/Sub-agents at work.*: exp-1 \(explorer\)/.test(summary)).toBe(seq < delivered)
    }
    expect(compacted[0]!.seq).toBeLessThan(delivered)
    expect(ofType(events, 'turn.ended').filter(({ error }) => error)).toEqual([])
  })
})

const contexts = [4096, 8192, 16_384].flatMap((context) =>
  (['full', 'compact'] as const).flatMap((toolset) =>
    [true, false].map((background) => ({ context, toolset, background })),
  ),
)

describe('seven children with 30,000 characters each', () => {
  test.each(contexts)('fit a context of $context, toolset $toolset, in the background: $background', async (kind) => {
    const { context, toolset, background } = kind
    const script = {
      model: { context, parameters: '70B', tools: true },
      server: { enforceNumCtx: true, parallel: 8 },
      rules: [
        { when: { purpose: 'compaction' }, reply: { text: 'Seven children report. '.repeat(400) } },
        {
          when: { agent: 'lead', turn: 1 },
          reply: {
            calls: [1, 2, 3, 4, 5, 6, 7].map((n) => ({
              tool: 'task',
              args: { agent: 'explorer', prompt: `part ${n}`, background },
            })),
          },
        },
        {
          when: { agent: 'explorer', prompt: '(part \\d)' },
          reply: { text: `{{match.1}} begins. ${'word '.repeat(6000)}`, delayMs: 100 },
        },
        { when: { agent: 'lead' }, reply: { text: 'turn {{turn}}' } },
      ],
    }
    const workplace = createWorkplace()
    const { requests, options } = await overhear(workplace, script)
    const config = { toolset, servers: { ollama: { slots: 8, contextTokens: context } } }
    const { play, events } = await createStage(workplace, script, { ...options, config })
    const finished = await play('go')
    expect(finished.status).toBe('done')
    expect(finished.jobs.map(({ delivered }) => delivered)).toEqual(Array(7).fill(true))
    expect(ofType(events, 'turn.ended').filter(({ error }) => error)).toEqual([])
    for (const request of requests) expect(tokensSent(request)).toBeLessThanOrEqual(request.numCtx)
    // None is only summed up unread, unless prompt and tools alone nearly fill the context.
    const isFull = context === 4096 && toolset === 'full'
    const heard = requests.filter(({ agent, purpose }) => agent === 'lead' && (isFull || purpose === 'turn'))
    for (const n of [1, 2, 3, 4, 5, 6, 7]) {
      expect(heard.some(({ body }) => body.includes(`part ${n} begins.`))).toBe(true)
    }
  })
})

type Line = { seq: number; type: string; summary?: string; consumed?: number[]; message?: { kind: string } }

function recordsOf(dataDir: string, session: string): Line[] {
  const text = readFileSync(join(dataDir, 'sessions', session, `${session}.jsonl`), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

function summaries(dataDir: string, session: string): { seq: number; summary: string }[] {
  return recordsOf(dataDir, session).flatMap(({ seq, summary }) => (summary ? [{ seq, summary }] : []))
}

/** Seq of the record that placed the first result. */
function deliveredAt(dataDir: string, session: string): number {
  const records = recordsOf(dataDir, session)
  const received = records.find(({ message }) => message?.kind === 'result')!.seq
  return records.find(({ consumed }) => consumed?.includes(received))!.seq
}
