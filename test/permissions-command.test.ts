import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { newHome } from './cli-process.ts'

/** A home whose user has rules, with a project that has some too. */
function newPlace() {
  const place = newHome()
  const dir = realpathSync(place.dir)
  const configDir = join(place.home, '.config/troupe')
  mkdirSync(configDir, { recursive: true })
  const user = (text: string) => {
    const path = join(configDir, 'config.yaml')
    writeFileSync(path, text)
    return path
  }
  return { ...place, dir, user, json: async (args: string[]) => JSON.parse((await place.run(args)).stdout) }
}

describe('troupe permissions', () => {
  test('lists rules by scope with file and line, those of the project once it is trusted', async () => {
    const { put, user, json, run, dir } = newPlace()
    const own = user('permission:\n  bash:\n    "git push*": deny\n')
    const project = join(dir, 'troupe.yaml')
    put('troupe.yaml', 'workers: 1\npermission:\n  edit: deny\n')
    put(
      '.troupe/agents/docs.md',
      '---\ndescription: d\npermission:\n  edit:\n    "*": deny\n    "docs/*": ask\n---\nX.\n',
    )
    const before = await json(['permissions', '--json'])
    expect(before.rules).toContainEqual({
      scope: 'user',
      key: 'bash',
      pattern: 'git push*',
      action: 'deny',
      path: own,
      line: 3,
    })
    expect(before.rules.map(({ scope }: { scope: string }) => scope)).not.toContain('project')
    expect(before.rules).toContainEqual({
      scope: 'agent',
      agent: 'docs',
      key: 'edit',
      pattern: 'docs/*',
      action: 'ask',
      path: join(dir, '.troupe/agents/docs.md'),
      line: 6,
    })
    await run(['trust'])
    const { rules } = await json(['permissions', '--json'])
    expect(rules).toContainEqual({
      scope: 'project',
      key: 'edit',
      pattern: '*',
      action: 'deny',
      path: project,
      line: 3,
    })
  })

  test('explains a command with each rule and its place, by the verdict of a run', async () => {
    const { user, run } = newPlace()
    const own = user('permission:\n  bash:\n    "git push*": deny\n    "make": allow\n')
    const denied = await run(['permissions', 'explain', 'git push origin'])
    expect(denied.code).toBe(0)
    expect(denied.stdout).toMatch(/^deny: git push origin\n/)
    expect(denied.stdout).toContain(`${own}:3`)
    expect((await run(['permissions', 'explain', 'make'])).stdout).toMatch(/^allow: make\n/)
    const mixed = await run(['permissions', 'explain', 'make && touch M', '--json'])
    expect(JSON.parse(mixed.stdout)).toMatchObject({ decision: 'ask', reason: expect.any(String) })
    expect((await run(['permissions', 'explain', 'ls'])).stdout).toMatch(/^allow: ls\n/)
  })

  test('explains paths as the tools resolve them, links followed', async () => {
    const { user, json, dir, home } = newPlace()
    user('permission:\n  edit: allow\n  external_directory: deny\n')
    symlinkSync(home, join(dir, 'out'))
    const decision = async (path: string) =>
      (await json(['permissions', 'explain', '--key', 'edit', path, '--json'])).decision
    expect(await decision('a.txt')).toBe('allow')
    expect(await decision('./sub/../a.txt')).toBe('allow')
    expect(await decision('../a.txt')).toBe('deny')
    expect(await decision('out/a.txt')).toBe('deny')
  })

  test('explains for an agent, and for one below the root', async () => {
    const { put, json, run } = newPlace()
    put('.troupe/agents/maker.md', '---\ndescription: d\npermission: { bash: { make: allow } }\n---\nX.\n')
    await run(['trust'])
    const explain = (...more: string[]) => json(['permissions', 'explain', 'make', '--json', ...more])
    expect(await explain()).toMatchObject({ decision: 'ask' })
    expect(await explain('--agent', 'maker')).toMatchObject({ decision: 'allow' })
    expect(await explain('--agent', 'maker', '--depth', '1')).toMatchObject({ decision: 'ask' })
  })

  test.each([
    [['permissions', 'explain', '--key', 'bsh', 'ls'], /no permission key "bsh".*bash, read/],
    [['permissions', 'explain', ''], /nothing to explain/],
    [['permissions', 'explain', 'ls', '--agent', 'nobody'], /no agent "nobody".*lead/],
    [['permissions', 'explain', 'ls', '--depth', 'deep'], /whole number/],
    [['permissions', 'remove', '1'], /no stored answer "1"/],
    [['permissions', 'remove', 'bash:ls *'], /no stored answer/],
    [['permissions', 'remove'], /Which answer/],
    [['permissions', 'list'], /Allowed choices are explain, remove/],
    [['permissions', '--agent', 'nobody'], /no agent "nobody"/],
  ])('%s is one line and exit code 2', async (args, message) => {
    const { run } = newPlace()
    const { code, stdout, stderr } = await run(args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})

describe('a rule that decides nothing', () => {
  test('is told with file and line: at the start of a run, by doctor and by permissions', async () => {
    const { put, user, run } = newPlace()
    const own = user('permission:\n  read:\n    "secret.yml": deny\n    "*": allow\n')
    const line = `${own}:3: warning: permission: read "secret.yml": deny can never win`
    const model = ['--model', `scripted:${put('s.yaml', 'rules: [{ when: {}, reply: { text: hi } }]')}`]
    const started = await run(['run', 'go', ...model])
    expect(started.stderr.split('\n').filter((text) => text.includes('can never win'))).toEqual([
      expect.stringContaining(line),
    ])
    expect((await run(['doctor', ...model])).stdout).toContain(line)
    expect((await run(['permissions'])).stderr).toContain(line)
  })

  test('of an agent file is told too, also when the user denies what it allows', async () => {
    const { put, user, run, dir } = newPlace()
    const own = user('permission:\n  bash:\n    "git push*": deny\n')
    const agent = put(
      '.troupe/agents/a.md',
      '---\ndescription: d\npermission:\n  bash:\n    "git push": allow\n---\nX.\n',
    )
    expect((await run(['permissions'])).stderr).toContain(
      `${realpathSync(agent)}:5: warning: permission: bash "git push": allow can never win: bash "git push*": deny (${own}:3)`,
    )
    expect(dir).not.toBe('')
  })

  test('with a key that there is none of is an error with file and line', async () => {
    const { user, run } = newPlace()
    const own = user('workers: 1\npermission:\n  bsh: deny\n')
    const { code, stderr } = await run(['permissions'])
    expect(code).toBe(2)
    expect(stderr).toMatch(`${own}:3: permission: there is no key "bsh"`)
  })
})

test('stored answers are listed, removed by number or by name, and lie in no repository', async () => {
  const { home, dir, run, json } = newPlace()
  const state = join(home, '.local/state/troupe')
  const { createStoredAnswers } = await import('../src/store/stored-answers.ts')
  const answers = createStoredAnswers(state, dir)
  for (const pattern of ['npm test *', 'make *', 'cargo build *']) {
    answers.add({
      rule: { key: 'bash', pattern, action: 'allow', source: 'session' },
      at: Date.UTC(2026, 1, 3),
      about: pattern,
    })
  }
  expect((await json(['permissions', '--json'])).answers).toMatchObject([
    { n: 1, key: 'bash', pattern: 'npm test *' },
    { n: 2, pattern: 'make *' },
    { n: 3, pattern: 'cargo build *' },
  ])
  expect((await json(['permissions', 'explain', 'make x', '--json'])).decision).toBe('allow')
  expect((await run(['permissions', 'remove', '2'])).stdout).toBe('Removed: bash:make *\n')
  expect((await json(['permissions', 'explain', 'make x', '--json'])).decision).toBe('ask')
  expect(await json(['permissions', 'remove', 'bash:npm test *', '--json'])).toEqual({
    removed: [{ key: 'bash', pattern: 'npm test *' }],
  })
  expect((await json(['permissions', '--json'])).answers.map(({ pattern }: { pattern: string }) => pattern)).toEqual([
    'cargo build *',
  ])
  expect(readdirSync(dir)).toEqual([])
  expect(readdirSync(join(state, 'answers'))).toHaveLength(1)
  expect(readFileSync(join(state, 'answers', readdirSync(join(state, 'answers'))[0]!), 'utf8')).toContain(dir)
})
