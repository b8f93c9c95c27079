import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
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
    for (const summary of compacted) {
      expect(summary).toContain('[in_progress] read all files')
      expect(summary).toContain('one file after the other')
    }
    expect(compacted[0]).toMatch(/exp-1 \(explorer\)|Sub-agents|f\d/)
    expect(ofType(events, 'turn.ended').filter(({ error }) => error)).toEqual([])
  })

  test('takes seven long results of children without overflowing', async () => {
    const script = {
      model: { context: 8000, parameters: '70B', tools: true },
      server: { enforceNumCtx: true },
      rules: [
        { when: { purpose: 'compaction' }, reply: { text: 'seven children report' } },
        {
          when: { agent: 'lead', turn: 1 },
          reply: {
            calls: Array.from({ length: 7 }, () => ({
              tool: 'task',
              args: { agent: 'explorer', prompt: 'long', background: true },
            })),
          },
        },
        { when: { agent: 'explorer' }, reply: { text: 'word '.repeat(6000), delayMs: 300 } },
        { when: { agent: 'lead' }, reply: { text: 'turn {{turn}}' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(), script)
    const finished = await play('go')
    expect(finished.status).toBe('done')
    expect(finished.jobs.every(({ delivered }) => delivered)).toBe(true)
    expect(ofType(events, 'turn.ended').filter(({ error }) => error)).toEqual([])
    for (const { usage } of ofType(events, 'turn.ended')) expect(usage.inputTokens).toBeLessThan(8000)
  })
})

function summaries(dataDir: string, session: string): string[] {
  const text = readFileSync(join(dataDir, 'sessions', session, `${session}.jsonl`), 'utf8')
  const records = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; summary?: string })
  return records.flatMap(({ type, summary }) => (type === 'history.compacted' && summary ? [summary] : []))
}
