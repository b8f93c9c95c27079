import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { type AskAnswer, createTroupe, type PermissionAsk, type Troupe, type TroupeOptions } from '../src/index.ts'
import { createStage, createWorkplace, ofType, type Script, type Workplace } from './support/workplace.ts'

const patient = { timeout: 30_000, interval: 10 }
const bash = (command: string) => ({ tool: 'bash', args: { command, description: command } })
const task = (prompt: string, more: object = {}) => ({ tool: 'task', args: { agent: 'general', prompt, ...more } })

/** The root and what stands below it run the command that they are told, at the depth that is named. */
const obedient: Script = {
  rules: [
    { when: { turn: 1, depth: 0, prompt: '^run (.*)' }, reply: { calls: [bash('{{match.1}}')] } },
    { when: { turn: 1, depth: '<2', prompt: '^deep .*' }, reply: { calls: [task('{{prompt}}')] } },
    { when: { turn: 1, prompt: '^deep (.*)' }, reply: { calls: [bash('{{match.1}}')] } },
    { when: {}, reply: { text: '{{last}}' } },
  ],
}

const kept: TroupeOptions = { keepAsks: true, config: { maxDepth: 2 } }
const forProject: AskAnswer = { decision: 'always', scope: 'project' }

function untilAsked(troupe: Troupe, count = 1): Promise<PermissionAsk[]> {
  return vi.waitFor(() => {
    expect(troupe.asks()).toHaveLength(count)
    return troupe.asks()
  }, patient)
}

async function answerNext(troupe: Troupe, answer: AskAnswer): Promise<PermissionAsk> {
  const [ask] = await untilAsked(troupe)
  expect(troupe.answer(ask?.id as PermissionAsk['id'], answer)).toBe('accepted')
  return ask as PermissionAsk
}

const made = ({ dir }: Workplace) => readdirSync(dir).sort()

describe('an "always" for the project', () => {
  test('counts for later runs in the folder, in every depth, and for no other folder', async () => {
    const [here, there] = [createWorkplace(), createWorkplace()]
    const first = await createStage(here, obedient, kept)
    const run = first.troupe.run({ prompt: 'run touch a' })
    const ask = await answerNext(first.troupe, forProject)
    expect(ask).toMatchObject({ always: 'bash:touch *', scopes: ['session', 'project'] })
    await run.finished
    await first.troupe.close()

    const second = await createStage(here, obedient, kept)
    await second.play('deep touch b')
    await second.play('run touch c')
    expect(ofType(second.events, 'permission.requested')).toEqual([])
    expect(made(here)).toEqual(['a', 'b', 'c'])

    const elsewhere = await createStage(there, obedient, { ...kept, dataDir: here.dataDir })
    const other = elsewhere.troupe.run({ prompt: 'run touch a' })
    await answerNext(elsewhere.troupe, { decision: 'reject' })
    await other.finished
    expect(made(there)).toEqual([])
  })

  test('says no more than it says: no other command, no longer one, and no deny is loosened', async () => {
    const workplace = createWorkplace()
    const first = await createStage(workplace, obedient, kept)
    const run = first.troupe.run({ prompt: 'run touch a' })
    await answerNext(first.troupe, forProject)
    await run.finished
    await first.troupe.close()
    for (const command of ['touchx b', 'touch b; rm -f a', 'touch b > c', 'touch ../b']) {
      const { troupe, events } = await createStage(workplace, obedient, kept)
      const next = troupe.run({ prompt: `run ${command}` })
      await answerNext(troupe, { decision: 'reject' })
      await next.finished
      expect(ofType(events, 'permission.requested')).toHaveLength(1)
      await troupe.close()
    }
    const denying = await createStage(workplace, obedient, { ...kept, deny: ['bash:touch *'] })
    expect((await denying.play('run touch b')).text).toMatch(/denied/i)
    expect(made(workplace)).toEqual(['a'])
  })

  test('answers what waits in other runs of the project; one for the session does not', async () => {
    const workplace = createWorkplace()
    const { troupe, events } = await createStage(workplace, obedient, kept)
    const runs = ['a', 'b'].map((name) => troupe.run({ prompt: `run touch ${name}` }))
    const [one, other] = await untilAsked(troupe, 2)
    expect(troupe.answer(one?.id as never, { decision: 'always' })).toBe('accepted')
    expect(troupe.asks()).toEqual([other])
    expect(troupe.answer(other?.id as never, forProject)).toBe('accepted')
    await Promise.all(runs.map(({ finished }) => finished))
    const third = troupe.run({ prompt: 'run touch c' })
    await third.finished
    expect(ofType(events, 'permission.requested')).toHaveLength(2)
    expect(made(workplace)).toEqual(['a', 'b', 'c'])
  })

  test('that was removed is asked again, by a run that is at work too', async () => {
    const workplace = createWorkplace()
    const { troupe } = await createStage(workplace, obedient, kept)
    const run = troupe.run({ prompt: 'run touch a' })
    await answerNext(troupe, forProject)
    await run.finished
    const { answers, remove } = troupe.permissions
    expect(answers()).toMatchObject([{ rule: { key: 'bash', pattern: 'touch *' }, about: 'touch a' }])
    remove(answers())
    expect(answers()).toEqual([])
    const next = troupe.run({ prompt: 'run touch b' })
    await answerNext(troupe, { decision: 'reject' })
    await next.finished
    expect(made(workplace)).toEqual(['a'])
  })

  test('in mode strict is not offered, and what was stored before is asked', async () => {
    const workplace = createWorkplace()
    const first = await createStage(workplace, obedient, kept)
    const run = first.troupe.run({ prompt: 'run touch a' })
    await answerNext(first.troupe, forProject)
    await run.finished
    await first.troupe.close()
    const { troupe, events } = await createStage(workplace, obedient, { ...kept, permission: 'strict' })
    const next = troupe.run({ prompt: 'run touch b' })
    const ask = await answerNext(troupe, forProject)
    expect(ask).not.toHaveProperty('always')
    await next.finished
    expect(ofType(events, 'permission.resolved')).toMatchObject([{ decision: 'once', by: 'person' }])
    expect(troupe.permissions.answers()).toHaveLength(1)
  })

  test.each([
    '',
    '{',
    '[]',
    'null',
    '{"worktree":"/","add":{"rule":{"key":"*","pattern":"*","action":"allow"},"at":1}}',
  ])('in a file that holds %j beside it is still read, and that allows nothing', async (text) => {
    const workplace = createWorkplace()
    const first = await createStage(workplace, obedient, { ...kept, host: 'inline' })
    const run = first.troupe.run({ prompt: 'run touch a' })
    await answerNext(first.troupe, forProject)
    await run.finished
    await first.troupe.close()
    const folder = join(workplace.dataDir, 'answers')
    const [name = ''] = readdirSync(folder)
    writeFileSync(join(folder, name), `${text}\n${readFileSync(join(folder, name), 'utf8')}${text.slice(0, 5)}`)
    const { troupe, events } = await createStage(workplace, obedient, { ...kept, host: 'inline' })
    await troupe.run({ prompt: 'run touch b' }).finished
    const other = troupe.run({ prompt: 'run make b' })
    await answerNext(troupe, { decision: 'reject' })
    await other.finished
    expect(ofType(events, 'permission.requested')).toHaveLength(1)
  })

  test('is no rule of the project: what lies there under the same names counts for nothing', async () => {
    const workplace = createWorkplace()
    const grant = { rule: { key: '*', pattern: '*', action: 'allow' }, at: 1, about: '' }
    for (const folder of ['answers', '.troupe/answers', 'trusted']) {
      mkdirSync(join(workplace.dir, folder), { recursive: true })
      workplace.write(`${folder}/x.jsonl`, `${JSON.stringify({ worktree: workplace.dir, add: grant })}\n`)
    }
    workplace.write('root/root.jsonl', `${JSON.stringify({ seq: 1, at: 1, type: 'grant.added', rule: grant.rule })}\n`)
    const { troupe } = await createStage(workplace, obedient, kept)
    const run = troupe.run({ prompt: 'run touch a', session: 'root' })
    await answerNext(troupe, { decision: 'reject' })
    await run.finished
    expect(existsSync(join(workplace.dir, 'a'))).toBe(false)
  })
})

describe('a question without a front end', () => {
  test('at depth 2 waits through a restart and is answered by whoever comes next', async () => {
    const workplace = createWorkplace()
    const model = `scripted:${workplace.script(obedient)}`
    const { dir, dataDir, env } = workplace
    const first = await createTroupe({ dir, dataDir, env, model, ...kept })
    const { session } = first.run({ prompt: 'deep touch a' })
    const [asked] = await untilAsked(first)
    expect(asked).toMatchObject({ depth: 2, agent: 'general', alias: 'gen-1', detail: 'touch a' })
    await first.close()

    const answered: PermissionAsk[] = []
    const onAsk = async (ask: PermissionAsk): Promise<AskAnswer> => {
      answered.push(ask)
      return { decision: 'once' }
    }
    const { troupe } = await createStage(workplace, model, { onAsk, config: { maxDepth: 2 } })
    expect((await troupe.resume(session).finished).status).toBe('done')
    expect(answered).toEqual([asked])
    expect(made(workplace)).toEqual(['a'])
  })

  test('is denied after the time that the configuration sets, and counts as denied', async () => {
    const { troupe, events, play } = await createStage(createWorkplace(), obedient, {
      keepAsks: true,
      config: { maxDepth: 2, askTimeoutMs: 1000 },
    })
    const finished = await play('deep touch a')
    expect(finished).toMatchObject({
      status: 'done',
      denied: 1,
      text: expect.stringContaining('nobody answered within 1 s'),
    })
    const [resolved] = ofType(events, 'permission.resolved')
    expect(resolved).toMatchObject({ decision: 'reject', by: 'policy' })
    expect(troupe.answer(resolved?.id as never, { decision: 'once' })).toBe('gone')
  })
})

describe('two front ends', () => {
  test('see the same question; the second answer learns how the first one decided', async () => {
    const workplace = createWorkplace()
    const { troupe, events } = await createStage(workplace, obedient, kept)
    const run = troupe.run({ prompt: 'deep touch a' })
    const [ask] = await untilAsked(troupe)
    const id = ask?.id as PermissionAsk['id']
    expect(troupe.decided(id)).toBeUndefined()
    expect([troupe.answer(id, { decision: 'reject', text: 'no' }), troupe.answer(id, forProject)]).toEqual([
      'accepted',
      'gone',
    ])
    expect(troupe.decided(id)).toEqual({ decision: 'reject', by: 'person' })
    await run.finished
    expect(ofType(events, 'permission.resolved')).toHaveLength(1)
    expect(troupe.permissions.answers()).toEqual([])
    expect(made(workplace)).toEqual([])
  })
})

test('an answer to an earlier generation of a job does nothing; the new one asks anew', async () => {
  const script: Script = {
    rules: [
      { when: { depth: 0, turn: 1 }, reply: { calls: [task('first')] } },
      { when: { depth: 0, turn: 2 }, reply: { calls: [task('second', { job: 'gen-1' })] } },
      { when: { depth: 1, text: '^(first|second)$' }, reply: { calls: [bash('touch {{match.1}}')] } },
      { when: {}, reply: { text: '{{last}}' } },
    ],
  }
  const workplace = createWorkplace()
  const { troupe } = await createStage(workplace, script, kept)
  const run = troupe.run({ prompt: 'go' })
  const old = await answerNext(troupe, { decision: 'reject' })
  const [fresh] = await vi.waitFor(() => {
    expect(troupe.asks()).toMatchObject([{ sessionId: old.sessionId }])
    return troupe.asks()
  }, patient)
  expect(fresh?.id).not.toBe(old.id)
  expect(troupe.answer(old.id, { decision: 'always', scope: 'project' })).toBe('gone')
  await pause(200)
  expect(troupe.asks()).toEqual([fresh])
  expect(troupe.answer(fresh?.id as never, { decision: 'reject' })).toBe('accepted')
  await run.finished
  expect(made(workplace)).toEqual([])
  expect(troupe.permissions.answers()).toEqual([])
})
