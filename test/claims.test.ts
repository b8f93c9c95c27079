import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PermissionAsk } from '../src/index.ts'
import { overhear } from './support/overheard.ts'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

const task = (prompt: string, more: object = {}) => ({ tool: 'task', args: { agent: 'general', prompt, ...more } })
const background = (prompt: string, more: object = {}) => task(prompt, { background: true, ...more })
const write = (file_path: string) => ({ tool: 'write', args: { file_path, content: 'new\n' } })

/** A job that is at work until something makes its second turn's reply come. */
const slow = (prompt: string, delayMs = 1500) => [
  { when: { agent: 'general', prompt, turn: 1 }, reply: { calls: [{ tool: 'glob', args: { pattern: '*' } }] } },
  { when: { agent: 'general', prompt }, reply: { text: `${prompt} is done`, delayMs } },
]

const last = [
  { when: { agent: 'lead', results: 0 }, reply: { text: '{{last}}' } },
  { when: { agent: 'lead' }, reply: { text: '{{results}}' } },
]

describe('a claim of a running job', () => {
  test('refuses one that overlaps, with the alias of its holder', async () => {
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [background('first', { files: ['src/auth/**'] })] } },
        { when: { agent: 'lead', turn: 2 }, reply: { calls: [task('second', { files: ['src/auth/login.ts'] })] } },
        ...last,
        ...slow('first'),
      ],
    }
    const workplace = createWorkplace()
    const { requests, options } = await overhear(workplace, script)
    const { play, events } = await createStage(workplace, script, options)
    await play('go')
    const board = requests.filter(({ agent }) => agent === 'lead')[1]?.board
    expect(board).toContain('gen-1 (general) running, in the background: first; it alone may write src/auth/**')
    const said = ofType(events, 'message.added').map(({ text }) => text)
    expect(
      said.some((text) => /"src\/auth\/login.ts" overlaps with "src\/auth\/\*\*", which gen-1 \(general\)/.test(text)),
    ).toBe(true)
    expect(ofType(events, 'job.launched').map(({ alias }) => alias)).toEqual(['gen-1'])
  })

  test('makes a write by another session ask, with the holder named, whatever edits are allowed', async () => {
    const workplace = createWorkplace()
    const asks: PermissionAsk[] = []
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [background('first', { files: ['src/**'] })] } },
        { when: { agent: 'lead', turn: 2 }, reply: { calls: [write('src/a.ts'), write('b.ts')] } },
        ...last,
        ...slow('first'),
      ],
    }
    const { play } = await createStage(workplace, script, {
      permission: 'edits',
      allow: ['edit:*'],
      onAsk: async (ask) => {
        asks.push(ask)
        return { decision: 'once' }
      },
    })
    await play('go')
    expect(asks).toMatchObject([
      { kind: 'edit', title: expect.stringMatching(/src\/a.ts .*: gen-1 \(general\) has claimed this file/), depth: 0 },
    ])
    expect(existsSync(join(workplace.dir, 'src/a.ts'))).toBe(true)
    expect(existsSync(join(workplace.dir, 'b.ts'))).toBe(true)
  })

  test('denies it where nobody is asked, in words that a model can act on', async () => {
    const workplace = createWorkplace()
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [background('first', { files: ['a.ts'] })] } },
        { when: { agent: 'lead', turn: 2 }, reply: { calls: [write('a.ts')] } },
        { when: { agent: 'lead', turn: 3 }, reply: { text: '{{last}}' } },
        ...last,
        ...slow('first'),
      ],
    }
    const { play, events } = await createStage(workplace, script, { permission: 'edits' })
    expect((await play('go')).denied).toBe(1)
    const said = ofType(events, 'message.added').map(({ text }) => text)
    expect(said.some((text) => text.includes('gen-1 (general) has claimed this file and is at work on it'))).toBe(true)
    expect(existsSync(join(workplace.dir, 'a.ts'))).toBe(false)
  })

  test('lets its holder write, and asks for what lies outside of it', async () => {
    const workplace = createWorkplace()
    const asks: string[] = []
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [task('first', { files: ['src/**'] })] } },
        ...last,
        { when: { agent: 'general', turn: 1 }, reply: { calls: [write('src/a.ts'), write('b.ts')] } },
        { when: { agent: 'general' }, reply: { text: '{{last}}' } },
      ],
    }
    const { play } = await createStage(workplace, script, {
      permission: 'edits',
      onAsk: async ({ title }) => {
        asks.push(title)
        return { decision: 'reject' }
      },
    })
    await play('go')
    expect(asks).toEqual([
      expect.stringMatching(/b.ts .*: b.ts lies outside of what this job has claimed \(src\/\*\*\)/),
    ])
    expect(readFileSync(join(workplace.dir, 'src/a.ts'), 'utf8')).toBe('new\n')
    expect(existsSync(join(workplace.dir, 'b.ts'))).toBe(false)
  })

  test('ends with its job', async () => {
    const workplace = createWorkplace()
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [task('first', { files: ['src/**'] })] } },
        {
          when: { agent: 'lead', turn: 2 },
          reply: { calls: [write('src/a.ts'), task('next', { files: ['src/a.ts'] })] },
        },
        ...last,
        { when: { agent: 'general' }, reply: { text: 'done' } },
      ],
    }
    const { play } = await createStage(workplace, script, { permission: 'edits' })
    expect(await play('go')).toMatchObject({ denied: 0, jobs: [{ alias: 'gen-1' }, { alias: 'gen-2' }] })
    expect(existsSync(join(workplace.dir, 'src/a.ts'))).toBe(true)
  })

  test('can be divided among the children of its holder', async () => {
    const workplace = createWorkplace()
    const script = {
      rules: [
        { when: { depth: 0, turn: 1 }, reply: { calls: [task('upper', { files: ['src/**'] })] } },
        { when: { depth: 0 }, reply: { text: '{{last}}' } },
        { when: { depth: 1, turn: 1 }, reply: { calls: [task('lower', { files: ['src/a.ts'] })] } },
        { when: { depth: 1 }, reply: { text: '{{last}}' } },
        { when: { depth: 2, turn: 1 }, reply: { calls: [write('src/a.ts')] } },
        { when: { depth: 2 }, reply: { text: 'wrote it' } },
      ],
    }
    const { play } = await createStage(workplace, script, { permission: 'edits', config: { maxDepth: 2 } })
    expect(await play('go')).toMatchObject({ text: 'wrote it', denied: 0 })
  })

  test('is overruled by a rule for claims', async () => {
    const workplace = createWorkplace()
    const script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [background('first', { files: ['a.ts'] })] } },
        { when: { agent: 'lead', turn: 2 }, reply: { calls: [write('a.ts')] } },
        ...last,
        ...slow('first'),
      ],
    }
    const { play } = await createStage(workplace, script, { permission: 'edits', allow: ['claim:*'] })
    expect((await play('go')).denied).toBe(0)
    expect(existsSync(join(workplace.dir, 'a.ts'))).toBe(true)
  })
})
