import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { JournalRecord } from '../src/core/records.ts'
import { allTools } from '../src/tools/all-tools.ts'
import type { Toolset } from '../src/tools/define-tool.ts'
import { shownName, toolsets } from '../src/tools/toolsets.ts'
import { type Step, toolSteps } from './support/tool-steps.ts'
import { createStage, createWorkplace, ofType, type Workplace } from './support/workplace.ts'

// What every tool must do, as a model calls it: through a real worker thread, with a scripted model.

const manyLines = Array.from({ length: 3000 }, (_, n) => `line ${n} of a text that goes on`).join('\n')

/** `/long` has many lines, `/never` does not answer. */
const website = createServer((request, response) => {
  if (request.url === '/never') return
  response.setHeader('content-type', request.url === '/long' ? 'text/plain' : 'text/html')
  response.end(request.url === '/long' ? manyLines : '<h1>A page</h1>')
})
let site: string
beforeAll(async () => {
  await new Promise<void>((resolve) => website.listen(0, '127.0.0.1', resolve))
  site = `http://127.0.0.1:${(website.address() as AddressInfo).port}/`
})
afterAll(() => {
  website.closeAllConnections()
  website.close()
})

type Call = Pick<Step, 'tool' | 'args'>

/** A stage on which `lead` makes these calls, the calls of one list in one message; children never end by themselves. */
async function stageFor(workplace: Workplace, toolset: Toolset, messages: Call[][]) {
  mkdirSync(join(workplace.dir, '.git'), { recursive: true })
  const script = {
    rules: [
      { when: { agent: 'explorer' }, reply: { text: 'Late.', delayMs: 60_000 } },
      ...messages.map((calls, n) => ({
        when: { agent: 'lead', turn: n + 1 },
        reply: { calls: calls.map(({ tool, args }) => ({ tool: shownName(toolset, tool), args })) },
      })),
      { when: {}, reply: { text: 'Done.' } },
    ],
  }
  const config = { toolset, webfetch: { allowHosts: ['127.0.0.1'] } }
  return createStage(workplace, script, { permission: 'allow', config })
}

function rootRecords({ dataDir }: Workplace): JournalRecord[] {
  const file = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).find((path) => {
    return path.endsWith('.jsonl') && readFileSync(join(dataDir, path), 'utf8').includes('"depth":0')
  })
  const lines = readFileSync(join(dataDir, file!), 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

/** What the root's journal says of its calls, in call order. */
function callsIn(workplace: Workplace) {
  const records = rootRecords(workplace)
  const made = records.flatMap((record) => (record.type === 'assistant.message' ? record.calls : []))
  return made.map(({ id, tool }) => ({
    tool,
    started: records.some((record) => record.type === 'call.started' && record.call === id),
    result: records.flatMap((record) =>
      record.type === 'call.finished' && record.call === id ? [record.result] : [],
    )[0],
  }))
}

/** As models send it that put everything in quotes. */
function inQuotes(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

describe.each(['full', 'compact'] as const)('in the toolset %s', (toolset) => {
  test.each([
    ['as declared', (args: Record<string, unknown>) => args],
    ['that are all in quotes', inQuotes],
  ])('every tool does its work with arguments %s, and records its start if it may act', async (_, form) => {
    const workplace = createWorkplace()
    const played = toolSteps(site)
    expect(played.map(({ tool }) => tool).sort()).toEqual(allTools.map(({ name }) => name).sort())
    const { play, events } = await stageFor(
      workplace,
      toolset,
      played.map(({ tool, args }) => [{ tool, args: form(args) }]),
    )
    await play('Use them all.')

    const calls = callsIn(workplace)
    for (const [n, { tool, says }] of played.entries()) expect(calls[n]?.result?.output, tool).toMatch(says)
    const ends = ofType(events, 'tool.finished').map(({ tool, how }) => `${tool} ${how}`)
    expect(ends).toEqual(played.map(({ tool }) => `${tool} ok`))
    expect(readFileSync(join(workplace.dir, 'a.txt'), 'utf8')).toBe('1\nneedle\n')
    const writing = allTools.filter(({ effect }) => effect === 'write').map(({ name }) => name)
    expect(calls.filter(({ started }) => started).map(({ tool }) => tool)).toEqual(
      played.map(({ tool }) => tool).filter((tool) => writing.includes(tool)),
    )
  })

  test('a call without what it needs is answered with the schema, and nothing happens', async () => {
    const workplace = createWorkplace({ 'a.txt': 'one\n' })
    const calls = toolSteps(site).flatMap(({ tool, args }) => {
      const schema = z.toJSONSchema(allTools.find(({ name }) => name === tool)!.input, { io: 'input' })
      return (schema.required ?? []).map((missing) => {
        const { [missing]: _, ...rest } = args
        return { tool, args: rest, missing }
      })
    })
    expect(calls.length).toBeGreaterThan(allTools.length)
    const { play } = await stageFor(workplace, toolset, [calls])
    expect((await play('Try.')).jobs).toEqual([])
    for (const [n, { tool, result, started }] of callsIn(workplace).entries()) {
      expect({ tool, started, isError: result?.isError }).toEqual({ tool, started: false, isError: true })
      expect(result?.output).toContain(`invalid parameters; ${shownName(toolset, tool)} was not run:`)
      expect(result?.output).toContain(`\n- ${calls[n]!.missing}: `)
      expect(result?.output).toContain('"properties"')
    }
    expect(readdirSync(workplace.dir).sort()).toEqual(['.git', 'a.txt'])
  })

  test('long output keeps to the limit and says that there is more', async () => {
    const workplace = createWorkplace({ 'long.txt': manyLines })
    const deep = `${'d'.repeat(200)}/${'e'.repeat(200)}`
    for (let n = 0; n < 200; n++) workplace.write(`${deep}/${n}.md`, '')
    const calls = [
      { tool: 'bash', args: { command: 'seq 1 200000' } },
      { tool: 'read', args: { file_path: 'long.txt' } },
      { tool: 'glob', args: { pattern: '*.md' } },
      { tool: 'grep', args: { pattern: '.' } },
      { tool: 'webfetch', args: { url: `${site}long` } },
    ]
    const { play } = await stageFor(
      workplace,
      toolset,
      calls.map((call) => [call]),
    )
    await play('Read all.')
    for (const { tool, result } of callsIn(workplace)) {
      expect(result?.output.length, tool).toBeLessThanOrEqual(toolsets[toolset].maxChars)
      expect(result?.output, tool).toMatch(/truncated|call \w+ again|showing the/)
    }
  })
})

test.each([
  ['bash', { command: 'echo begun; sleep 61' }, /^cancelled /],
  ['webfetch', { url: 'SITEnever', timeout: 60 }, /^cancelled /],
  // Answered by the record of the interruption itself.
  ['task_wait', { timeout_ms: 60_000 }, /^turn\.interrupted$/],
  ['task', { agent: 'explorer', prompt: 'Wait.' }, /^ok .*background/],
])('a call of %s that takes long ends when the user stops the session', async (tool, given, ends) => {
  const workplace = createWorkplace()
  const args = JSON.parse(JSON.stringify(given).replace('SITE', site))
  const child = { tool: 'task', args: { agent: 'explorer', prompt: 'Wait.', background: true } }
  const { troupe, events } = await stageFor(workplace, 'full', [[child], [{ tool, args }]])
  const run = troupe.run({ prompt: 'Go.', agent: 'lead' })
  await new Promise<void>((resolve) => {
    troupe.events.subscribe(() => {
      const begun = ofType(events, 'tool.started').filter((event) => event.session === run.session)
      if (begun.length === 2) setTimeout(resolve, 200)
    })
  })
  // The child goes on in the background, and the run with it.
  await run.interrupt()
  const end = () => {
    const result = callsIn(workplace)[1]?.result
    return result ? `${result.how} ${result.output}` : rootRecords(workplace).at(-1)?.type
  }
  await expect.poll(end, { timeout: 10_000 }).toMatch(ends)
  await run.cancel()
  expect((await run.finished).status).toBe('interrupted')
})

test('edits of one file by agents on two threads all arrive (C13)', async () => {
  const rounds = 10
  const lines = Array.from({ length: 2 * rounds }, (_, n) => `line ${n}\n`).join('')
  const workplace = createWorkplace({ 'shared.txt': lines })
  const edits = (agent: string, first: number) =>
    Array.from({ length: rounds }, (_, n) => ({
      when: { agent, turn: n + 2 },
      reply: {
        calls: [
          { tool: 'read', args: { file_path: 'shared.txt' } },
          {
            tool: 'edit',
            args: { file_path: 'shared.txt', old_string: `line ${first + n}\n`, new_string: `${agent} ${n}\n` },
          },
        ],
      },
    }))
  const script = {
    rules: [
      {
        when: { agent: 'lead', turn: 1 },
        reply: {
          calls: ['general', 'fixer'].map((agent) => ({
            tool: 'task',
            args: { agent, prompt: 'Edit.', background: true },
          })),
        },
      },
      ...['general', 'fixer'].map((agent) => ({
        when: { agent, turn: 1 },
        reply: { calls: [{ tool: 'read', args: { file_path: 'shared.txt' } }] },
      })),
      ...edits('general', 0),
      ...edits('fixer', rounds),
      { when: {}, reply: { text: 'Done.' } },
    ],
  }
  const { play, events } = await createStage(workplace, script, { permission: 'allow', workers: 2 })
  expect(await play('Go.')).toMatchObject({ status: 'done' })
  const failed = ofType(events, 'tool.finished').filter(({ tool, how }) => tool === 'edit' && how !== 'ok')
  // Read and edit in one message: the other agent may come between them, and then the edit is refused, never lost.
  const text = readFileSync(join(workplace.dir, 'shared.txt'), 'utf8')
  expect(text.match(/^(general|fixer) \d+$/gm)).toHaveLength(2 * rounds - failed.length)
  expect(text.split('\n')).toHaveLength(2 * rounds + 1)
  expect(failed.length).toBeLessThan(2 * rounds)
})
