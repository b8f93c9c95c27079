import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { RuntimeEvent, Troupe } from '../src/index.ts'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

describe('cancelling a run', () => {
  test('stops every agent under it, its processes and its questions, and starts no turn', async () => {
    const script = {
      rules: [
        {
          when: { agent: 'lead', turn: 1 },
          reply: {
            calls: [
              { tool: 'task', args: { agent: 'general', prompt: 'A', background: true } },
              { tool: 'task', args: { agent: 'general', prompt: 'B', background: true } },
            ],
          },
        },
        {
          when: { prompt: 'A', depth: 1 },
          reply: { calls: [{ tool: 'bash', args: { command: 'echo $$ > pid; sleep 61' } }] },
        },
        {
          when: { prompt: 'B', depth: 1, turn: 1 },
          reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'C', background: true } }] },
        },
        { when: { prompt: 'B', depth: 1 }, reply: { text: 'slow '.repeat(400), chunkMs: 50 } },
        { when: { prompt: 'C', depth: 2 }, reply: { calls: [{ tool: 'bash', args: { command: 'touch never' } }] } },
        { when: {}, reply: { text: 'waiting' } },
      ],
    }
    const workplace = createWorkplace()
    const { troupe, events } = await createStage(workplace, script, {
      config: { maxDepth: 2 },
      allow: ['bash:echo *'],
      onAsk: (ask) => (ask.depth === 2 ? new Promise(() => undefined) : Promise.resolve({ decision: 'once' })),
    })
    const run = troupe.run({ prompt: 'go' })
    await seen(troupe, events, (event) => event.type === 'permission.requested' && event.depth === 2)
    await seen(troupe, events, (event) => event.type === 'text.delta')
    await readPid(workplace.dir)
    const turns = ofType(events, 'turn.started').length
    await run.cancel()
    await run.cancel()
    const finished = await run.finished
    expect(finished.status).toBe('interrupted')
    expect(ofType(events, 'session.ended').map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'cancelled'])
    expect(troupe.asks()).toEqual([])
    expect(ofType(events, 'permission.resolved').at(-1)).toMatchObject({ by: 'withdrawn' })
    expect(isAlive(await readPid(workplace.dir))).toBe(false)
    expect(ofType(events, 'turn.started')).toHaveLength(turns)
  })
})

describe('stopping a turn', () => {
  test('keeps real results, says what was cut off, and the session goes on', async () => {
    const script = {
      rules: [
        {
          when: { turn: 1 },
          reply: {
            calls: [
              { tool: 'glob', args: { pattern: '*.txt' } },
              { tool: 'bash', args: { command: 'echo begun; sleep 62' } },
            ],
          },
        },
        { when: { text: 'continue' }, reply: { text: 'went on' } },
      ],
    }
    const workplace = createWorkplace({ 'a.txt': 'a' })
    const { troupe, events } = await createStage(workplace, script, { permission: 'allow' })
    const run = troupe.run({ prompt: 'go' })
    await seen(troupe, events, (event) => event.type === 'tool.started' && event.tool === 'bash')
    await seen(troupe, events, (event) => event.type === 'tool.finished' && event.tool === 'glob')
    await new Promise((resolve) => setTimeout(resolve, 300))
    await run.interrupt()
    expect((await run.finished).status).toBe('interrupted')
    const again = await troupe.run({ prompt: 'continue', session: run.session }).finished
    expect(again.text).toBe('went on')
    const results = journal(workplace.dataDir, run.session).filter(({ type }) => type === 'call.finished')
    expect(results.map(({ result }) => result?.how)).toEqual(['ok', 'cancelled'])
    expect(results[1]?.result?.output).toContain('interrupted')
  })
})

type Line = { type: string; result?: { how: string; output: string } }

function journal(dataDir: string, session: string): Line[] {
  const text = readFileSync(join(dataDir, 'sessions', session, `${session}.jsonl`), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

function seen(troupe: Troupe, events: RuntimeEvent[], matches: (event: RuntimeEvent) => boolean): Promise<void> {
  if (events.some(matches)) return Promise.resolve()
  return new Promise((resolve) => troupe.events.subscribe((event) => matches(event) && resolve()))
}

async function readPid(dir: string): Promise<number> {
  for (;;) {
    try {
      const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'))
      if (pid > 0) return pid
    } catch {
      // Not written yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
