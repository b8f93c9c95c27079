import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { overhear } from './support/overheard.ts'
import { createStage, createWorkplace, ofType, type Workplace } from './support/workplace.ts'

const read = (path: string) => ({ tool: 'read', args: { file_path: path } })
const bash = (command: string) => ({ tool: 'bash', args: { command } })
const notice = 'These files have changed since you last saw them'

/** Plays these replies of the lead, one a turn, and returns what the board said before each turn. */
async function boardsOf(workplace: Workplace, replies: object[], between?: (turn: number) => void): Promise<string[]> {
  const rules = replies.map((reply, n) => ({ when: { agent: 'lead', turn: n + 1 }, reply }))
  const { requests, options } = await overhear(workplace, { rules: [...rules, { when: {}, reply: { text: 'done' } }] })
  const { play, troupe } = await createStage(workplace, { rules: [] }, { ...options, permission: 'allow' })
  troupe.events.subscribe((event) => event.type === 'turn.ended' && between?.(event.turn))
  expect((await play('go')).status).toBe('done')
  return requests.filter(({ agent }) => agent === 'lead').map(({ board }) => board)
}

describe('a file that a session has read', () => {
  test('and that its own command changes is told of once', async () => {
    const workplace = createWorkplace({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
    const replies = [
      { calls: [read('a.txt'), read('b.txt')] },
      { calls: [bash('echo more >> a.txt')] },
      { calls: [bash('true')] },
    ]
    const boards = await boardsOf(workplace, replies)
    expect(boards.map((board) => board.includes(notice))).toEqual([false, false, true, false])
    expect(boards[2]).toContain('- a.txt')
    expect(boards[2]).not.toContain('b.txt')
  })

  test('and that somebody changes or removes from outside is told of before the next request', async () => {
    const workplace = createWorkplace({ 'a.txt': 'one\n', 'b.txt': 'two\n', 'c.txt': 'three\n' })
    const replies = [
      { calls: [read('a.txt'), read('b.txt'), read('c.txt')] },
      { calls: [bash('true')] },
      { calls: [bash('true')] },
    ]
    const boards = await boardsOf(workplace, replies, (turn) => {
      if (turn !== 2) return
      writeFileSync(join(workplace.dir, 'a.txt'), 'another\n')
      rmSync(join(workplace.dir, 'b.txt'))
      writeFileSync(join(workplace.dir, 'c.txt'), 'three\n')
    })
    expect(boards.map((board) => board.includes(notice))).toEqual([false, false, true, false])
    expect(boards[2]).toContain('- a.txt\n- b.txt')
    expect(boards[2]).not.toContain('c.txt')
  })

  test('is not told of for its own edits, and again when it has read the change and it changes once more', async () => {
    const workplace = createWorkplace({ 'a.txt': 'one\n' })
    const replies = [
      { calls: [read('a.txt')] },
      { calls: [{ tool: 'edit', args: { file_path: 'a.txt', old_string: 'one', new_string: 'ONE' } }] },
      { calls: [bash('echo 2 >> a.txt')] },
      { calls: [read('a.txt')] },
      { calls: [bash('echo 3 >> a.txt')] },
    ]
    const boards = await boardsOf(workplace, replies)
    expect(boards.map((board) => board.includes(notice))).toEqual([false, false, false, true, false, true])
  })

  test('and that changed while the program was not running is told of when it is resumed', async () => {
    const workplace = createWorkplace({ 'a.txt': 'one\n' })
    const script = {
      rules: [
        { when: { turn: 1 }, reply: { calls: [read('a.txt')] } },
        { when: {}, reply: { text: 'ok' } },
      ],
    }
    const { requests, options } = await overhear(workplace, script)
    const first = await createStage(workplace, script, options)
    const { root } = await first.play('go')
    await first.troupe.close()
    workplace.write('a.txt', 'another\n')
    const second = await createStage(workplace, script, options)
    await second.troupe.resume(root, 'Go on.').finished
    expect(requests.at(-1)!.board).toContain(
      `${notice}. Read them again before you rely on them or edit them:\n- a.txt`,
    )
    expect(ofType(second.events, 'context.stale')).toMatchObject([
      { session: root, path: join(workplace.dir, 'a.txt') },
    ])
  })
})
