import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { newHome } from './cli-process.ts'
import { createStage, createWorkplace, ofType, type Script, type Workplace } from './support/workplace.ts'

const write = (file_path: string, content: string) => ({ tool: 'write', args: { file_path, content } })
const task = (prompt: string, more: object = {}) => ({
  tool: 'task',
  args: { agent: 'general', prompt, isolation: 'worktree', ...more },
})

function git(dir: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@localhost']
  return execFileSync('git', [...identity, ...args], {
    cwd: dir,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()
}

function createRepository(
  files: Record<string, string> = { 'a.txt': 'one\ntwo\nthree\n', '.gitignore': 'built/\n' },
): Workplace {
  const workplace = createWorkplace(files)
  git(workplace.dir, 'init', '-q', '-b', 'main')
  git(workplace.dir, 'add', '-A')
  git(workplace.dir, 'commit', '-q', '-m', 'begin')
  return workplace
}

/** A lead that sends one child and repeats its result. */
const once = (call: object, child: object[]): Script => ({
  rules: [
    { when: { agent: 'lead', turn: 1 }, reply: { calls: [call] } },
    { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
    ...child,
  ],
})
const writes = (...calls: object[]) => [
  { when: { agent: 'general', turn: 1 }, reply: { calls } },
  { when: { agent: 'general' }, reply: { text: 'finished' } },
]

const worktreesIn = ({ dataDir }: Workplace) => {
  const folder = join(dataDir, 'worktrees')
  return existsSync(folder) ? readdirSync(folder) : []
}

describe('a child in a worktree', () => {
  test('works on a branch of its own; its result names branch and changes, and the folder is removed', async () => {
    const workplace = createRepository()
    const { play, events } = await createStage(
      workplace,
      once(task('go'), writes(write('a.txt', 'one\nTWO\nthree\n'), write('new/b.txt', 'b\n'))),
      { permission: 'edits' },
    )
    const { text, root, status } = await play('go')
    expect(status).toBe('done')
    const branch = `troupe/${root}-gen-1`
    expect(text).toBe(
      [
        'finished',
        '',
        `[worktree] Its work is on branch ${branch}: 2 files changed, 2 insertions(+), 1 deletion(-)`,
        'M a.txt',
        'A new/b.txt',
        `It merges with your folder as it is now. Nothing has been merged; to take it over: git merge ${branch}`,
      ].join('\n'),
    )
    expect(readFileSync(join(workplace.dir, 'a.txt'), 'utf8')).toBe('one\ntwo\nthree\n')
    expect(existsSync(join(workplace.dir, 'new'))).toBe(false)
    expect(git(workplace.dir, 'show', `${branch}:new/b.txt`)).toBe('b')
    expect(git(workplace.dir, 'status', '--porcelain')).toBe('')
    expect(git(workplace.dir, 'branch', '--show-current')).toBe('main')
    expect(worktreesIn(workplace)).toEqual([])
    expect(git(workplace.dir, 'worktree', 'list').split('\n')).toHaveLength(1)
    const created = ofType(events, 'session.created').map(({ dir }) => dir)
    expect(created[1]).toBe(join(workplace.dataDir, 'worktrees', `${root}-gen-1`))
  })

  test('that changed nothing leaves neither folder nor branch', async () => {
    const workplace = createRepository()
    const { play } = await createStage(workplace, once(task('go'), writes({ tool: 'glob', args: { pattern: '*' } })))
    expect((await play('go')).text).toBe('finished\n\n[worktree] It changed no files.')
    expect(worktreesIn(workplace)).toEqual([])
    expect(git(workplace.dir, 'branch', '--list')).toBe('* main')
  })

  test('may be so by its agent file, also in a folder below the top, and finds that folder again', async () => {
    const workplace = createRepository({ 'pkg/deep/a.txt': 'a\n' })
    const agents = [
      {
        name: 'worker',
        description: 'works apart',
        prompt: 'Work.',
        mode: 'subagent' as const,
        isolation: 'worktree' as const,
      },
    ]
    const call = { tool: 'task', args: { agent: 'worker', prompt: 'go' } }
    const script = once(call, [
      { when: { agent: 'worker', turn: 1 }, reply: { calls: [write('a.txt', 'changed\n')] } },
      { when: { agent: 'worker' }, reply: { text: 'finished' } },
    ])
    const dir = join(workplace.dir, 'pkg/deep')
    const { play } = await createStage({ ...workplace, dir }, script, { agents, permission: 'edits' })
    const { text, root } = await play('go')
    expect(text).toContain('M pkg/deep/a.txt')
    expect(git(workplace.dir, 'show', `troupe/${root}-wor-1:pkg/deep/a.txt`)).toBe('changed')
  })

  test('whose work conflicts says so, against what is uncommitted in the folder too; nothing is merged', async () => {
    const workplace = createRepository()
    const script: Script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [task('go', { background: true })] } },
        {
          when: { agent: 'lead', turn: 2 },
          reply: { calls: [write('a.txt', 'one\nmine\nthree\n'), write('new.txt', 'mine\n')] },
        },
        { when: { agent: 'lead', results: 1 }, reply: { text: '{{results}}' } },
        { when: { agent: 'lead' }, reply: { text: 'waiting' } },
        {
          when: { agent: 'general', turn: 1 },
          reply: { delayMs: 1500, calls: [write('a.txt', 'one\ntheirs\nthree\n'), write('new.txt', 'theirs\n')] },
        },
        { when: { agent: 'general' }, reply: { text: 'finished' } },
      ],
    }
    const { play } = await createStage(workplace, script, { permission: 'edits' })
    const { text } = await play('go')
    expect(text).toContain('It CONFLICTS with your folder as it is now, in: a.txt, new.txt.')
    expect(text).toContain('Nothing has been merged')
    expect(readFileSync(join(workplace.dir, 'a.txt'), 'utf8')).toBe('one\nmine\nthree\n')
    expect(git(workplace.dir, 'log', '--oneline', 'main').split('\n')).toHaveLength(1)
    expect(git(workplace.dir, 'diff', '--cached', '--name-only')).toBe('')
  })

  test('whose conflicting files have names that git would quote, or lie in the way, names them all', async () => {
    const workplace = createRepository({ 'ä.txt': 'one\n', 'same.txt': 'one\n' })
    writeFileSync(join(workplace.dir, 'ä.txt'), 'ours\n')
    writeFileSync(join(workplace.dir, 'ö "new".txt'), 'ours\n')
    writeFileSync(join(workplace.dir, 'notes'), 'ours\n')
    const { play } = await createStage(
      workplace,
      once(
        task('go'),
        writes(write('ä.txt', 'theirs\n'), write('ö "new".txt', 'theirs\n'), write('notes/a.txt', 'theirs\n')),
      ),
      { permission: 'edits' },
    )
    const { text } = await play('go')
    expect(text).toContain('A notes/a.txt\nM ä.txt\nA ö "new".txt')
    expect(text).toContain('It CONFLICTS with your folder as it is now, in: ä.txt, notes/a.txt, ö "new".txt.')
  })

  test('that fails keeps its folder, its work committed, and its result says where', async () => {
    const workplace = createRepository()
    const script = once(task('go', { max_turns: 1 }), [
      { when: { agent: 'general', turn: 1 }, reply: { calls: [write('half.txt', 'half\n')] } },
      { when: { agent: 'general' }, reply: { fault: { status: 401 } } },
    ])
    const { play } = await createStage(workplace, script, { permission: 'edits' })
    const { text, root, jobs } = await play('go')
    expect(jobs[0]?.state).not.toBe('completed')
    const folder = join(workplace.dataDir, 'worktrees', `${root}-gen-1`)
    expect(text).toContain(`The worktree is kept in ${folder}, on branch troupe/${root}-gen-1.`)
    expect(existsSync(join(folder, 'half.txt'))).toBe(true)
    expect(git(workplace.dir, 'show', `troupe/${root}-gen-1:half.txt`)).toBe('half')
  })

  test('that is cancelled loses nothing', async () => {
    const workplace = createRepository()
    const script: Script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [task('go', { background: true })] } },
        { when: { agent: 'lead' }, reply: { text: 'waiting' } },
        { when: { agent: 'general', turn: 1 }, reply: { calls: [write('half.txt', 'half\n')] } },
        { when: { agent: 'general' }, reply: { text: 'never '.repeat(2000), chunkMs: 100 } },
      ],
    }
    const { troupe, events } = await createStage(workplace, script, { permission: 'edits' })
    const run = troupe.run({ prompt: 'go' })
    await new Promise<void>((resolve) =>
      troupe.events.subscribe((event) => event.type === 'text.delta' && /gen-1$/.test(event.session) && resolve()),
    )
    await run.cancel()
    await run.finished
    expect(git(workplace.dir, 'show', `troupe/${run.session}-gen-1:half.txt`)).toBe('half')
    expect(ofType(events, 'job.finished')[0]?.text).toContain('The worktree is kept in')
  })

  test('that is continued finds its branch and folder again', async () => {
    const workplace = createRepository()
    const script: Script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [task('first')] } },
        {
          when: { agent: 'lead', turn: 2 },
          reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'second', job: 'gen-1' } }] },
        },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
        { when: { agent: 'general', turn: 1 }, reply: { calls: [write('b.txt', 'b\n')] } },
        {
          when: { agent: 'general', turn: 3 },
          reply: { calls: [{ tool: 'edit', args: { file_path: 'b.txt', old_string: 'b', new_string: 'c' } }] },
        },
        { when: { agent: 'general' }, reply: { text: 'finished' } },
      ],
    }
    const { play } = await createStage(workplace, script, { permission: 'edits' })
    const { text, root } = await play('go')
    expect(text).toContain('A b.txt')
    expect(git(workplace.dir, 'show', `troupe/${root}-gen-1:b.txt`)).toBe('c')
    expect(worktreesIn(workplace)).toEqual([])
  })

  test('runs no hook of the repository, and its commit needs no name of a user', async () => {
    const workplace = createRepository()
    const hooks = join(workplace.dir, '.git/hooks')
    mkdirSync(hooks, { recursive: true })
    for (const hook of ['post-checkout', 'pre-commit', 'commit-msg', 'post-commit', 'reference-transaction']) {
      writeFileSync(join(hooks, hook), `#!/bin/sh\ntouch "${workplace.dir}/hook-ran"\nexit 1\n`)
      chmodSync(join(hooks, hook), 0o755)
    }
    const { play } = await createStage(workplace, once(task('go'), writes(write('b.txt', 'b\n'))), {
      permission: 'edits',
    })
    expect((await play('go')).text).toContain('1 file changed')
    expect(existsSync(join(workplace.dir, 'hook-ran'))).toBe(false)
  })

  test('five of one repository at once get five worktrees', async () => {
    const workplace = createRepository()
    const calls = [1, 2, 3, 4, 5].map((n) => task(`job ${n}`, { background: true }))
    const script: Script = {
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls } },
        { when: { agent: 'lead', results: 5 }, reply: { text: '{{results}}' } },
        { when: { agent: 'lead' }, reply: { text: 'waiting' } },
        { when: { agent: 'general', turn: 1 }, reply: { calls: [write('b.txt', 'b\n')] } },
        { when: { agent: 'general' }, reply: { text: 'finished' } },
      ],
    }
    const { play } = await createStage(workplace, script, { permission: 'edits' })
    const { text, status } = await play('go')
    expect(status).toBe('done')
    expect(text.match(/1 file changed/g)).toHaveLength(5)
    expect(git(workplace.dir, 'branch', '--list', 'troupe/*').split('\n')).toHaveLength(5)
  })
})

test('a run that was killed goes on in its worktree, with what was uncommitted there', async () => {
  const { put, run, start, dir, home } = newHome()
  put('a.txt', 'one\n')
  git(dir, 'init', '-q')
  git(dir, 'add', '-A')
  git(dir, 'commit', '-q', '-m', 'begin')
  const script = (delayMs: number) =>
    stringify({
      rules: [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [task('go')] } },
        { when: { agent: 'lead' }, reply: { text: '{{last}}' } },
        { when: { agent: 'general', turn: 1 }, reply: { calls: [write('half.txt', 'half\n')] } },
        { when: { agent: 'general' }, reply: { text: 'finished', delayMs } },
      ],
    })
  const model = `scripted:${put('../script.yaml', script(600_000))}`
  const running = start(['run', 'go', '--model', model, '--session', 'killed', '--permission', 'edits', '--json'])
  const folder = join(home, '.local/state/troupe/worktrees/killed-gen-1')
  await expect.poll(() => existsSync(join(folder, 'half.txt')), { timeout: 40_000 }).toBe(true)
  running.child.kill('SIGKILL')
  await running.finished
  put('../script.yaml', script(0))
  const resumed = await run(['resume', 'killed', '--model', model, '--permission', 'edits'])
  expect(resumed).toMatchObject({ code: 0 })
  expect(resumed.stdout).toContain('Its work is on branch troupe/killed-gen-1: 1 file changed')
  expect(git(dir, 'show', 'troupe/killed-gen-1:half.txt')).toBe('half')
  expect(existsSync(folder)).toBe(false)
})

describe('isolation is refused', () => {
  test('where there is no repository', async () => {
    const { play, events } = await createStage(createWorkplace(), once(task('go'), []))
    expect((await play('go')).text).toContain('isolation: worktree needs a git repository')
    expect(ofType(events, 'job.launched')).toEqual([])
  })

  test('where nothing has been committed yet', async () => {
    const workplace = createWorkplace({ 'a.txt': 'a\n' })
    git(workplace.dir, 'init', '-q')
    const { play } = await createStage(workplace, once(task('go'), []))
    expect((await play('go')).text).toContain('this repository has none. Commit first')
  })
})
