import { execFileSync } from 'node:child_process'
import { existsSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../src/core/clock.ts'
import type { AskAnswer, JournalRecord, PermissionAsk, SessionId, TroupeOptions } from '../src/index.ts'
import { createStore } from '../src/store/create-store.ts'
import { createStage, createWorkplace, ofType, type Script, type Workplace } from './support/workplace.ts'

/** The ten gravest of the attack list: each runs a command that no rule has allowed, if it gets through. */
const gravest: [id: string, command: string][] = [
  ['A01', 'ls && touch M'],
  ['A06', 'ls .\ntouch M'],
  ['A20', 'echo "$(touch M)"'],
  ['A24', 'cat <<EOF\n\t$(touch M)\nEOF'],
  ['A29', "test -v 'a[$(touch M)]'"],
  ['A34', 'r\\m keep'],
  ['A42', "PATH=.:$PATH evil; GIT_PAGER='touch M' git -p log"],
  ['A53', 'find . -maxdepth 0 -exec touch M \\;'],
  ['A54', "sed -n '1w M' f"],
  ['A61', "git -c alias.z='!touch M' z"],
]

/** What a person may have allowed on an ordinary day; the wide ones are what each attack rides on. */
const allowed = ['ls *', 'cat *', 'echo *', 'test *', 'git *', 'find *', 'sed *', 'PATH=*'].map(
  (rule) => `bash:${rule}`,
)

const depths = [0, 1, 2]
const isBash = realpathSync('/bin/sh').endsWith('bash')

/** `/bin/sh` need not be bash, which alone evaluates this one. */
const harmlessElsewhere = new Set(['A29'])

type Case = { id: string; command: string; depth: number; prompt: string }

const cases: Case[] = gravest.flatMap(([id, command]) =>
  depths.map((depth) => ({ id, command, depth, prompt: `${id} at ${depth}` })),
)

/** A session at each depth hands the task on, until the one that shall act: it makes the call. */
function scriptFor(acts: Case[]): Script {
  const rules = acts.flatMap(({ command, depth, prompt }) => {
    const when = { prompt: `^${prompt}$`, turn: 1 }
    const handOn = { tool: 'task', args: { agent: 'general', prompt } }
    return [
      { when: { ...when, depth }, reply: { calls: [{ tool: 'bash', args: { command } }] } },
      { when: { ...when, depth: `<${depth}` }, reply: { calls: [handOn] } },
    ]
  })
  return { rules: [...rules, { when: {}, reply: { text: '{{last}}' } }] }
}

function placeFor(): Workplace {
  const workplace = createWorkplace({ f: 'one\n', keep: 'kept\n', evil: '#!/bin/sh\ntouch M\n' })
  execFileSync('chmod', ['+x', join(workplace.dir, 'evil')])
  execFileSync('git', ['init', '-q'], { cwd: workplace.dir })
  return workplace
}

function stageFor(workplace: Workplace, acts: Case[], options: TroupeOptions) {
  return createStage(workplace, scriptFor(acts), { allow: allowed, config: { maxDepth: 2 }, workers: 1, ...options })
}

/** The questions that a session's tree has written down. */
function askedIn({ dataDir }: Workplace, root: SessionId): JournalRecord[] {
  const store = createStore({ dataDir, clock: systemClock, onDamage: ({ message }) => expect.fail(message) })
  const records = store.sessionsOf(root).flatMap((session) => store.read({ root, session }))
  return records.filter(({ type }) => type === 'ask.requested')
}

function isIntact({ dir }: Workplace): boolean {
  return !existsSync(join(dir, 'M')) && existsSync(join(dir, 'keep'))
}

function repair({ dir, write }: Workplace): void {
  rmSync(join(dir, 'M'), { force: true })
  write('keep', 'kept\n')
}

test('each asks once, wherever it comes from, and does nothing unless somebody says yes', async () => {
  const workplace = placeFor()
  const asked: PermissionAsk[] = []
  const onAsk = async (ask: PermissionAsk): Promise<AskAnswer> => {
    asked.push(ask)
    return isIntact(workplace) ? { decision: 'reject' } : expect.fail('It ran before it was asked.')
  }
  const { troupe } = await stageFor(workplace, cases, { onAsk })
  for (const { prompt, depth, command } of cases) {
    asked.length = 0
    const { root, status } = await troupe.run({ prompt }).finished
    expect({ prompt, status, asked }).toMatchObject({
      status: 'done',
      asked: [{ kind: 'shell', depth, detail: command }],
    })
    expect({ prompt, written: askedIn(workplace, root) }).toMatchObject({ written: [{ pattern: command }] })
    expect({ prompt, intact: isIntact(workplace) }).toEqual({ prompt, intact: true })
  }
})

test('each is denied at every depth where nobody can be asked', async () => {
  const workplace = placeFor()
  const { troupe } = await stageFor(workplace, cases, {})
  for (const { prompt, command } of cases) {
    const finished = await troupe.run({ prompt }).finished
    expect({ prompt, ...finished }).toMatchObject({ status: 'done', denied: 1 })
    expect({ prompt, written: askedIn(workplace, finished.root) }).toMatchObject({ written: [{ pattern: command }] })
    expect({ prompt, intact: isIntact(workplace) }).toEqual({ prompt, intact: true })
  }
})

test('each would do it: a yes lets it through', async () => {
  const workplace = placeFor()
  const { play } = await stageFor(workplace, cases, { onAsk: async () => ({ decision: 'once' }) })
  for (const { id, prompt } of cases.filter(({ depth }) => depth === 0)) {
    await play(prompt)
    expect({ id, intact: isIntact(workplace) }).toEqual({ id, intact: harmlessElsewhere.has(id) && !isBash })
    repair(workplace)
  }
})

test('a denied program is found under another spelling, and nobody is asked', async () => {
  const workplace = placeFor()
  const spelled = ['r\\m keep', '"rm" keep', "r''m keep", '/bin/rm keep', 'cat f; rm keep', 'env rm keep']
  const acts = spelled.flatMap((command, n) =>
    depths.map((depth) => ({ id: 'A34', command, depth, prompt: `spelling ${n} at ${depth}` })),
  )
  const onAsk = async ({ detail }: PermissionAsk) => expect.fail(`asked: ${detail}`)
  const { events, play } = await stageFor(workplace, acts, { deny: ['bash:rm *'], onAsk })
  for (const { prompt } of acts) expect((await play(prompt)).text).toMatch(/denied/i)
  expect(ofType(events, 'permission.requested')).toEqual([])
  expect(isIntact(workplace)).toBe(true)
})
