import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { diffChanges, undoChanges } from '../src/index.ts'
import { newHome } from './cli-process.ts'
import { createStage, createWorkplace, type Script, type Workplace } from './support/workplace.ts'

const write = (file_path: string, content: string) => ({ tool: 'write', args: { file_path, content } })
const edit = (file_path: string, old_string: string, new_string: string) => ({
  tool: 'edit',
  args: { file_path, old_string, new_string },
})
const task = (prompt: string) => ({ tool: 'task', args: { agent: 'general', prompt } })

/** A lead that edits in two turns, between them a child that edits. */
const script: Script = {
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: { calls: [edit('a.txt', 'one', 'ONE'), edit('a.txt', 'two', 'TWO'), write('new/b.txt', 'made\n')] },
    },
    { when: { agent: 'lead', turn: 2 }, reply: { calls: [task('child work')] } },
    { when: { agent: 'lead', turn: 3 }, reply: { calls: [write('c.txt', 'by lead\n')] } },
    { when: { agent: 'lead' }, reply: { text: 'done' } },
    { when: { agent: 'general', turn: 1 }, reply: { calls: [edit('d.txt', 'four', 'FOUR')] } },
    { when: { agent: 'general' }, reply: { text: 'child done' } },
  ],
}
const before = { 'a.txt': 'one\ntwo\n', 'c.txt': 'three\n', 'd.txt': 'four\n' }

async function played(workplace: Workplace): Promise<{ session: string; text(path: string): string }> {
  const { play, troupe } = await createStage(workplace, script, { permission: 'edits' })
  const { root, status } = await play('go')
  expect(status).toBe('done')
  await troupe.close()
  return { session: root, text: (path) => readFileSync(join(workplace.dir, path), 'utf8') }
}

describe('an undo', () => {
  test('of a run puts back every file, contents and modes, and removes what it made', async () => {
    const workplace = createWorkplace(before)
    chmodSync(join(workplace.dir, 'a.txt'), 0o750)
    const { session, text } = await played(workplace)
    expect(text('a.txt')).toBe('ONE\nTWO\n')
    const outcome = await undoChanges({ session }, workplace.dataDir)
    expect(outcome).toMatchObject({ removed: [join(workplace.dir, 'new/b.txt')], left: [], shellCommands: 0 })
    expect(outcome.restored).toHaveLength(3)
    for (const [path, content] of Object.entries(before)) expect(text(path)).toBe(content)
    expect(existsSync(join(workplace.dir, 'new/b.txt'))).toBe(false)
    expect(statSync(join(workplace.dir, 'a.txt')).mode & 0o777).toBe(0o750)
    const again = await undoChanges({ session }, workplace.dataDir)
    expect(again).toMatchObject({ restored: [], removed: [], left: [] })
  })

  test('leaves what somebody changed or removed since, and says why', async () => {
    const workplace = createWorkplace(before)
    const { session, text } = await played(workplace)
    writeFileSync(join(workplace.dir, 'a.txt'), 'a person was here\n')
    rmSync(join(workplace.dir, 'c.txt'))
    const { left, restored } = await undoChanges({ session }, workplace.dataDir)
    expect(left).toEqual([
      { path: join(workplace.dir, 'a.txt'), why: 'it was changed afterwards' },
      { path: join(workplace.dir, 'c.txt'), why: 'it was removed afterwards' },
    ])
    expect(restored).toEqual([join(workplace.dir, 'd.txt')])
    expect(text('a.txt')).toBe('a person was here\n')
    expect(existsSync(join(workplace.dir, 'c.txt'))).toBe(false)
  })

  test('of one job or one turn takes that alone', async () => {
    const workplace = createWorkplace(before)
    const { session, text } = await played(workplace)
    await undoChanges({ session, job: 'gen-1' }, workplace.dataDir)
    expect([text('a.txt'), text('c.txt'), text('d.txt')]).toEqual(['ONE\nTWO\n', 'by lead\n', 'four\n'])
    await undoChanges({ session, turn: 3 }, workplace.dataDir)
    expect([text('a.txt'), text('c.txt')]).toEqual(['ONE\nTWO\n', 'three\n'])
  })

  test('of a turn takes the jobs with it that the turn sent', async () => {
    const workplace = createWorkplace(before)
    const { session, text } = await played(workplace)
    const { restored } = await undoChanges({ session, turn: 2 }, workplace.dataDir)
    expect(restored).toEqual([join(workplace.dir, 'd.txt')])
    expect(text('d.txt')).toBe('four\n')
  })

  test('of a job leaves a file that another job changed after it, with its name', async () => {
    const workplace = createWorkplace({ 'a.txt': 'one\ntwo\n' })
    const { play, troupe } = await createStage(
      workplace,
      {
        rules: [
          { when: { agent: 'lead', turn: 1 }, reply: { calls: [task('first')] } },
          { when: { agent: 'lead', turn: 2 }, reply: { calls: [task('second')] } },
          { when: { agent: 'lead' }, reply: { text: 'done' } },
          { when: { prompt: 'first', turn: 1 }, reply: { calls: [edit('a.txt', 'one', 'ONE')] } },
          { when: { prompt: 'second', turn: 1 }, reply: { calls: [edit('a.txt', 'two', 'TWO')] } },
          { when: {}, reply: { text: 'edited' } },
        ],
      },
      { permission: 'edits' },
    )
    const { root } = await play('go')
    await troupe.close()
    const first = await undoChanges({ session: root, job: 'gen-1' }, workplace.dataDir)
    expect(first.left).toMatchObject([{ why: 'gen-2 changed it afterwards, in its turn 1' }])
    const second = await undoChanges({ session: root, job: 'gen-2' }, workplace.dataDir)
    expect(second.restored).toHaveLength(1)
    expect(readFileSync(join(workplace.dir, 'a.txt'), 'utf8')).toBe('ONE\ntwo\n')
  })

  test('leaves a file that another program changed between two writes of the run', async () => {
    const workplace = createWorkplace({ 'a.txt': 'one\n' })
    const command = { tool: 'bash', args: { command: 'echo person >> a.txt' } }
    const { play, troupe } = await createStage(
      workplace,
      {
        rules: [
          { when: { turn: 1 }, reply: { calls: [edit('a.txt', 'one', 'ONE')] } },
          { when: { turn: 2 }, reply: { calls: [command, { tool: 'read', args: { file_path: 'a.txt' } }] } },
          { when: { turn: 3 }, reply: { calls: [{ tool: 'read', args: { file_path: 'a.txt' } }] } },
          { when: { turn: 4 }, reply: { calls: [edit('a.txt', 'ONE', 'uno')] } },
          { when: {}, reply: { text: 'done' } },
        ],
      },
      { permission: 'allow' },
    )
    const { root } = await play('go')
    await troupe.close()
    const outcome = await undoChanges({ session: root }, workplace.dataDir)
    expect(outcome).toMatchObject({
      left: [{ why: 'a command or another program changed it in between' }],
      shellCommands: 1,
    })
    expect(readFileSync(join(workplace.dir, 'a.txt'), 'utf8')).toBe('uno\nperson\n')
  })

  test('finds each content kept once, for a turn as it was at its begin', async () => {
    const workplace = createWorkplace({ ...before, 'same.txt': 'three\n' })
    await played(workplace)
    const kept = readdirSync(join(workplace.dataDir, 'snapshots'), { recursive: true, withFileTypes: true })
    const contents = kept
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath ?? entry.path, entry.name), 'utf8'))
    expect(contents.sort()).toEqual(['four\n', 'one\ntwo\n', 'three\n'])
  })

  test('of a session at work, or of one that there is not, is refused', async () => {
    const workplace = createWorkplace(before)
    const { play } = await createStage(workplace, script, { permission: 'edits' })
    const { root } = await play('go')
    await expect(undoChanges({ session: root }, workplace.dataDir)).rejects.toMatchObject({ code: 'session-locked' })
    await expect(undoChanges({ session: 'nosuch' }, workplace.dataDir)).rejects.toMatchObject({
      code: 'unknown-session',
    })
    await expect(undoChanges({ session: root, job: 'gen-9' }, workplace.dataDir)).rejects.toThrow(
      /There is no job gen-9 .* Jobs: gen-1/,
    )
  })
})

describe('a diff', () => {
  test('shows what a run changed, by job, the writes of one file in one', async () => {
    const workplace = createWorkplace(before)
    const { session } = await played(workplace)
    const { jobs } = diffChanges({ session }, workplace.dataDir)
    expect(
      jobs.map(({ alias, files }) => [alias, files.map(({ path }) => path.slice(workplace.dir.length + 1))]),
    ).toEqual([
      ['lead', ['a.txt', 'new/b.txt', 'c.txt']],
      ['gen-1', ['d.txt']],
    ])
    expect(jobs[0]?.files[0]).toMatchObject({
      whole: true,
      diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n-two\n+ONE\n+TWO\n',
    })
  })
})

test('the commands diff and undo say what they did, and that shell commands are not covered', async () => {
  const { put, run, dir } = newHome()
  for (const [path, text] of Object.entries(before)) put(path, text)
  const workplace = createWorkplace()
  const model = `scripted:${workplace.script(script)}`
  expect((await run(['run', 'go', '--model', model, '--session', 'edits', '--permission', 'edits'])).code).toBe(0)
  const diff = await run(['diff', 'edits', '--job', 'gen-1'])
  expect(diff).toMatchObject({ code: 0 })
  expect(diff.stdout).toMatch(
    /^gen-1 \(general\): 1 file\n--- a\/d.txt\n\+\+\+ b\/d.txt\n@@ -1,1 \+1,1 @@\n-four\n\+FOUR\n/,
  )
  expect(diff.stderr).toContain('Changes by shell commands are not covered (none ran).')
  put('a.txt', 'mine\n')
  const undo = await run(['undo', 'edits'])
  expect(undo.code).toBe(1)
  expect(undo.stdout).toContain(`restored  ${join(dir, 'd.txt')}`)
  expect(undo.stdout).toContain(`left      ${join(dir, 'a.txt')}: it was changed afterwards`)
  expect(undo.stderr).toContain('not covered')
})
