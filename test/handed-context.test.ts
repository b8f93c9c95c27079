import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { changesOf } from '../src/jobboard/changes-of.ts'
import { createBoard } from '../src/jobboard/create-board.ts'
import { overhear } from './support/overheard.ts'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

const task = (args: object) => ({ tool: 'task', args: { agent: 'general', prompt: 'work', ...args } })
const read = (file_path: string) => ({ tool: 'read', args: { file_path } })

const files = { 'src/a.ts': 'export const a = 1\n', 'src/b.ts': 'export const b = 2\n', 'src/c.ts': 'one\ntwo\n' }

const toolsOf = (events: Parameters<typeof ofType>[0], session: RegExp) =>
  ofType(events, 'tool.finished').filter((event) => session.test(event.session))

describe('files handed to a child', () => {
  test('stand in its first message: it makes no read of them, and edits them at once', async () => {
    const workplace = createWorkplace(files)
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [task({ context: Object.keys(files) })] } },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
        {
          when: {
            agent: 'general',
            turn: 1,
            prompt: '^work[^]*"src/a.ts"[^]*1-1 of 1[^]*\\tone\\n +2\\ttwo\\n</file>\\n</context>$',
          },
          reply: { calls: [{ tool: 'edit', args: { file_path: 'src/c.ts', old_string: 'two', new_string: 'TWO' } }] },
        },
        { when: { agent: 'general' }, reply: { text: 'edited' } },
      ],
    }
    const { play, events } = await createStage(workplace, script, { permission: 'edits' })
    expect((await play('go')).text).toBe('edited')
    expect(toolsOf(events, /gen-1$/)).toMatchObject([{ tool: 'edit', how: 'ok' }])
    expect(readFileSync(join(workplace.dir, 'src/c.ts'), 'utf8')).toBe('one\nTWO\n')
  })

  test('count as read: a change of one makes the child stale, and the board offers the child with them', async () => {
    const workplace = createWorkplace(files)
    const change = { tool: 'edit', args: { file_path: 'src/a.ts', old_string: '1', new_string: '3' } }
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [task({ context: ['src/a.ts'] })] } },
        { when: { agent: 'lead', turn: 2 }, reply: { calls: [change] } },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
        { when: { agent: 'general' }, reply: { text: 'known' } },
      ],
    }
    const { requests, options } = await overhear(workplace, script)
    const { play, events } = await createStage(workplace, script, { ...options, permission: 'edits' })
    const { root } = await play('go')
    const boards = requests.filter(({ agent }) => agent === 'lead').map(({ board }) => board)
    expect(boards[1]).toContain('context read by gen-1: src/a.ts (1 lines)')
    expect(ofType(events, 'context.stale')).toMatchObject([{ session: `${root}-gen-1`, by: root }])
  })

  test('may be those that another job has read', async () => {
    const script = {
      rules: [
        {
          when: { agent: 'lead', turn: 1 },
          reply: { calls: [task({ agent: 'explorer', prompt: 'look' })] },
        },
        { when: { agent: 'lead', turn: 2 }, reply: { calls: [task({ context: ['job:exp-1', 'src/c.ts'] })] } },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
        { when: { agent: 'explorer', turn: 1 }, reply: { calls: [read('src/a.ts'), read('src/b.ts')] } },
        { when: { agent: 'explorer' }, reply: { text: 'seen' } },
        {
          when: { prompt: 'const [ab] [^]*read by exp-1[^]*const [ab] [^]*handed over by the agent' },
          reply: { text: 'I know all three' },
        },
      ],
    }
    const { play, events } = await createStage(createWorkplace(files), script)
    expect((await play('go')).text).toBe('I know all three')
    expect(toolsOf(events, /gen-1$/)).toEqual([])
  })

  test('are only those that the parent may read', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [task({ context: ['src/a.ts', 'src/b.ts'] })] } },
        { when: {}, reply: { text: '{{last}}' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(files), script, { deny: ['read:src/b.ts'] })
    expect((await play('go')).text).toContain('src/b.ts cannot be handed over: you have no permission to read it.')
    expect(ofType(events, 'job.launched')).toEqual([])
  })

  test('reach a child that is continued as well', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [task({})] } },
        { when: { agent: 'lead', turn: 2 }, reply: { calls: [task({ job: 'gen-1', context: ['src/b.ts'] })] } },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
        { when: { agent: 'general', turn: 1 }, reply: { text: 'one' } },
        { when: { agent: 'general', text: 'const b = 2' }, reply: { text: 'two' } },
      ],
    }
    const { play } = await createStage(createWorkplace(files), script)
    expect((await play('go')).text).toBe('two')
  })

  test('take at most a third of the context of its model; the rest is named', async () => {
    const long = Array.from({ length: 2000 }, (_, n) => `line ${n + 1} of a long file`).join('\n')
    const many = Object.fromEntries(['one', 'two', 'three', 'four'].map((name) => [`${name}.txt`, long]))
    const script = {
      model: { context: 8000, parameters: '70B', tools: true },
      rules: [
        {
          when: { agent: 'lead', turn: 1 },
          reply: { calls: [task({ context: Object.keys(many), background: true })] },
        },
        { when: { agent: 'lead', turn: 2 }, reply: { text: '{{last}}' } },
        { when: { agent: 'lead' }, reply: { text: '{{results}}' } },
        { when: { agent: 'general' }, reply: { text: '{{prompt}}' } },
      ],
    }
    const { play, events } = await createStage(createWorkplace(many), script)
    await play('go')
    const said = ofType(events, 'message.added')
    const prompt = said.find(({ text, role }) => role === 'user' && text.startsWith('work'))?.text ?? ''
    expect(prompt.length).toBeLessThan((8000 * 4) / 3 + 500)
    expect(prompt).toMatch(/"one.txt" origin="[^"]*" lines="1-\d+ of 2000"/)
    expect(prompt).toContain('Not handed over for lack of room: ')
    expect(said.some(({ text }) => /Of one.txt the first \d+ of 2000 lines were handed over/.test(text))).toBe(true)
  })
})

test('a board that is rebuilt from journals knows what was handed over', () => {
  const board = createBoard()
  const ref = { root: 'r' as never, session: 'r-gen-1' as never }
  const touch = { path: '/w/a.ts', kind: 'read' as const, hash: 'h', lines: { from: 1, to: 2, of: 2 } }
  const message = { kind: 'user' as const, text: 'work', files: [touch] }
  for (const change of changesOf({ seq: 1, at: 1, type: 'message.received', message }, ref)) board.apply(change)
  expect(board.contextFiles('/w/a.ts')).toMatchObject([{ readers: [{ session: 'r-gen-1', hash: 'h', stale: false }] }])
})
