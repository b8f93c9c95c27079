import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { overhear } from './support/overheard.ts'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

const general = (prompt: string, more: object = {}) => ({ tool: 'task', args: { agent: 'general', prompt, ...more } })
const edit = (old_string: string, new_string: string) => ({
  tool: 'edit',
  args: { file_path: 'list.txt', old_string, new_string },
})
const read = { tool: 'read', args: { file_path: 'list.txt' } }

describe('two children that edit one file in turn, one with stale knowledge', () => {
  const script = {
    rules: [
      { when: { agent: 'lead', turn: 1 }, reply: { calls: [general('first reader')] } },
      { when: { agent: 'lead', turn: 2 }, reply: { calls: [general('other')] } },
      { when: { agent: 'lead', turn: 3 }, reply: { calls: [general('now edit', { job: 'gen-1' })] } },
      { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
      { when: { prompt: 'first reader', turn: 1 }, reply: { calls: [read] } },
      { when: { prompt: 'first reader', turn: 2 }, reply: { text: 'read it' } },
      { when: { prompt: 'first reader', turn: 3 }, reply: { calls: [edit('two', 'TWO')] } },
      {
        when: { prompt: 'first reader', turn: 4, text: 'has changed since you last read it' },
        reply: { calls: [read] },
      },
      { when: { prompt: 'first reader', turn: 5 }, reply: { calls: [edit('two', 'TWO')] } },
      { when: { prompt: 'first reader', turn: 6 }, reply: { text: 'edited it' } },
      { when: { prompt: 'other', turn: 1 }, reply: { calls: [read] } },
      { when: { prompt: 'other', turn: 2 }, reply: { calls: [edit('one', 'ONE')] } },
      { when: { prompt: 'other', turn: 3 }, reply: { text: 'done' } },
    ],
  }

  test('lose no update: one notice, one refusal, then success', async () => {
    const workplace = createWorkplace({ 'list.txt': 'one\ntwo\n' })
    const { requests, options } = await overhear(workplace, script)
    const { play, events } = await createStage(workplace, script, { ...options, permission: 'edits' })
    const finished = await play('go')
    expect(finished).toMatchObject({ status: 'done', text: 'edited it' })
    expect(readFileSync(join(workplace.dir, 'list.txt'), 'utf8')).toBe('ONE\nTWO\n')
    const told = requests.filter(({ board }) => board.includes('have changed since you last saw them'))
    expect(told.map(({ session }) => session)).toEqual([`${finished.root}-gen-1`])
    expect(told[0]?.board).toContain('- list.txt (changed by gen-2)')
    const edits = ofType(events, 'tool.finished').filter(
      ({ tool, session }) => tool === 'edit' && /gen-1$/.test(session),
    )
    expect(edits.map(({ how }) => how)).toEqual(['error', 'ok'])
  })

  test('are told of it to the outside', async () => {
    const workplace = createWorkplace({ 'list.txt': 'one\ntwo\n' })
    const { play, events } = await createStage(workplace, script, { permission: 'edits' })
    const { root } = await play('go')
    expect(ofType(events, 'context.stale')).toMatchObject([
      { session: `${root}-gen-1`, path: join(workplace.dir, 'list.txt'), by: `${root}-gen-2` },
      { session: `${root}-gen-2`, path: join(workplace.dir, 'list.txt'), by: `${root}-gen-1` },
    ])
  })
})

test('a child that has read a file is offered for reuse with what it has read', async () => {
  const workplace = createWorkplace({ 'list.txt': 'one\ntwo\n' })
  const script = {
    rules: [
      { when: { agent: 'lead', turn: 1 }, reply: { calls: [general('reader')] } },
      { when: { agent: 'lead', turn: 2 }, reply: { calls: [general('what was in it?', { job: 'gen-1' })] } },
      { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
      { when: { prompt: 'reader', turn: 1 }, reply: { calls: [read] } },
      { when: { prompt: 'reader', turn: 2 }, reply: { text: 'read it' } },
      { when: { prompt: 'reader', turn: 3, text: 'what was in it' }, reply: { text: 'one and two' } },
    ],
  }
  const { requests, options } = await overhear(workplace, script)
  const { play } = await createStage(workplace, script, options)
  expect((await play('go')).text).toBe('one and two')
  const boards = requests.filter(({ agent }) => agent === 'lead').map(({ board }) => board)
  expect(boards[1]).toBe(
    '<job-board>\nFinished, can be continued by their names:\n- gen-1 (general): reader; context read by gen-1: list.txt (2 lines)\n</job-board>',
  )
})
