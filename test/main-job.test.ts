import { describe, expect, test } from 'vitest'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

const explorers = {
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        text: 'I will send two explorers.',
        calls: [
          { tool: 'task', args: { agent: 'explorer', prompt: 'Count exports in src/a.ts', background: true } },
          { tool: 'task', args: { agent: 'explorer', prompt: 'Count exports in src/b.ts', background: true } },
        ],
      },
    },
    {
      when: { agent: 'explorer', turn: 1, prompt: 'exports in (\\S+)' },
      reply: { calls: [{ tool: 'read', args: { file_path: '{{match.1}}' } }] },
    },
    { when: { agent: 'explorer' }, reply: { text: 'Seen: {{last}}' } },
    { when: { agent: 'lead', results: 2 }, reply: { text: 'Both are back.\n{{results}}' } },
    { when: {}, reply: { text: 'waiting' } },
  ],
}

const files = { 'src/a.ts': 'export const a = 1\n', 'src/b.ts': 'export const b = 2\n' }

describe.each(['threads', 'inline'] as const)('on the %s host', (host) => {
  test('a lead sends two explorers, gets both results once, and answers', async () => {
    const { play, events } = await createStage(createWorkplace(files), explorers, { host })
    const finished = await play('look')
    expect(finished.status).toBe('done')
    expect(finished.text).toContain('export const a = 1')
    expect(finished.text).toContain('export const b = 2')
    expect(finished.jobs).toMatchObject([
      { alias: 'exp-1', agent: 'explorer', state: 'completed', delivered: true },
      { alias: 'exp-2', agent: 'explorer', state: 'completed', delivered: true },
    ])
    expect(
      ofType(events, 'result.delivered')
        .map(({ alias, via }) => `${alias} ${via}`)
        .sort(),
    ).toEqual(['exp-1 pair', 'exp-2 pair'])
    expect(events.at(-1)?.type).toBe('run.finished')
  })
})
