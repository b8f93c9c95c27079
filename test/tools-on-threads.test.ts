import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allTools } from '../src/tools/all-tools.ts'
import { shownName } from '../src/tools/toolsets.ts'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

// Every tool once, as a model calls it: through a real worker thread, with a scripted model.

const website = createServer((_, response) => {
  response.setHeader('content-type', 'text/html')
  response.end('<h1>A page</h1>')
})
let site: string
beforeAll(async () => {
  await new Promise<void>((resolve) => website.listen(0, '127.0.0.1', resolve))
  site = `http://127.0.0.1:${(website.address() as AddressInfo).port}/`
})
afterAll(() => void website.close())

type Step = { tool: string; args: object; says: RegExp }

/** In an order in which each finds what it needs. `says` is what the model is told. */
const steps = (): Step[] => [
  { tool: 'write', args: { file_path: 'a.txt', content: 'one\nneedle\n' }, says: /^Created a\.txt/ },
  { tool: 'read', args: { file_path: 'a.txt' }, says: /\t?needle/ },
  { tool: 'edit', args: { file_path: 'a.txt', old_string: 'one', new_string: '1' }, says: /^Edited a\.txt at line 1/ },
  { tool: 'glob', args: { pattern: '*.txt' }, says: /^a\.txt$/ },
  { tool: 'grep', args: { pattern: 'need.e' }, says: /^a\.txt:2: needle$/ },
  { tool: 'bash', args: { command: 'cat a.txt; echo bad >&2' }, says: /^1\nneedle\n[\s\S]*bad/ },
  { tool: 'webfetch', args: { url: site }, says: /^# A page$/ },
  { tool: 'todowrite', args: { todos: [{ content: 'Test' }] }, says: /^\[ \] Test$/ },
  { tool: 'todoread', args: {}, says: /^\[ \] Test$/ },
  { tool: 'update_memory', args: { content: 'Use tabs.' }, says: /^Remembered in \.troupe\/memory\.md/ },
  { tool: 'skill', args: { name: 'write-a-test' }, says: /test/i },
  {
    tool: 'task',
    args: { agent: 'explorer', prompt: 'Wait.', background: true },
    says: /^exp-1 \(explorer\) has started/,
  },
  { tool: 'task_send', args: { job: 'exp-1', message: 'Look again.' }, says: /exp-1/ },
  { tool: 'task_wait', args: { jobs: ['exp-1'], timeout_ms: 50 }, says: /./ },
  { tool: 'read_sub_agent', args: { job: 'exp-1' }, says: /Wait\./ },
  { tool: 'task_cancel', args: { job: 'exp-1' }, says: /exp-1/ },
]

describe.each(['full', 'compact'] as const)('in the toolset %s', (toolset) => {
  test('every tool does its work on a worker thread', async () => {
    const workplace = createWorkplace()
    mkdirSync(join(workplace.dir, '.git'))
    const played = steps()
    expect(played.map(({ tool }) => tool).sort()).toEqual(allTools.map(({ name }) => name).sort())
    const script = {
      rules: [
        { when: { agent: 'explorer' }, reply: { text: 'Late.', delayMs: 60_000 } },
        ...played.map(({ tool, args }, n) => ({
          when: { agent: 'lead', turn: n + 1 },
          reply: { text: '{{last}}', calls: [{ tool: shownName(toolset, tool), args }] },
        })),
        { when: {}, reply: { text: '{{last}}' } },
      ],
    }
    const { play, events } = await createStage(workplace, script, {
      permission: 'allow',
      config: { toolset, webfetch: { allowHosts: ['127.0.0.1'] } },
    })
    const { text } = await play('Use them all.')

    const told = ofType(events, 'message.added').filter(
      ({ role, session, root }) => role === 'assistant' && session === root,
    )
    const outputs = [...told.slice(1).map((event) => event.text), text]
    for (const [n, { tool, says }] of played.entries()) expect(outputs[n], tool).toMatch(says)
    const ends = ofType(events, 'tool.finished').map(({ tool, how }) => `${tool} ${how}`)
    expect(ends).toEqual(played.map(({ tool }) => `${tool} ok`))
    expect(readFileSync(join(workplace.dir, 'a.txt'), 'utf8')).toBe('1\nneedle\n')
  })
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
