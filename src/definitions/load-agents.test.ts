import { execFileSync } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadAgents } from './load-agents.ts'
import { builtinAgentsDir, findWorktree } from './paths.ts'
import { spawnableFor } from './spawnable.ts'

const fixtures = fileURLToPath(new URL('fixtures/agents/', import.meta.url))
let root = ''

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-agents-')))
})

afterEach(() => rm(root, { recursive: true, force: true }))

async function put(path: string, text: string | Buffer): Promise<string> {
  const full = join(root, path)
  await mkdir(dirname(full), { recursive: true })
  await writeFile(full, text)
  return full
}

function agent(name: string, description = 'd'): string {
  return `---\nname: ${name}\ndescription: ${description}\ntools: read\n---\nPrompt of ${name}.\n`
}

async function load(dir = 'project') {
  await mkdir(join(root, dir), { recursive: true })
  const worktree = findWorktree(join(root, dir))
  return loadAgents({
    dir: join(root, dir),
    worktree,
    userConfigDir: join(root, 'user'),
    builtinDir: join(root, 'builtin'),
  })
}

describe('sources of agents', () => {
  test('project wins over user wins over built-in', async () => {
    await put('builtin/a.md', agent('a', 'builtin'))
    await put('builtin/b.md', agent('b', 'builtin'))
    await put('builtin/c.md', agent('c', 'builtin'))
    await put('user/agents/a.md', agent('a', 'user'))
    await put('user/agents/b.md', agent('b', 'user'))
    const path = await put('project/.troupe/agents/a.md', agent('a', 'project'))
    const { agents } = await load()
    expect(agents.map(({ name, description }) => [name, description])).toEqual([
      ['a', 'project'],
      ['b', 'user'],
      ['c', 'builtin'],
    ])
    expect(agents[0]!.source).toEqual({ kind: 'project', path })
  })

  test('agents of Claude and opencode load as they are', async () => {
    await put('project/.claude/agents/x.md', '---\nname: x\ndescription: d\ntools: Read, Bash\n---\nB\n')
    await put('project/.opencode/agent/y.md', '---\ndescription: d\ntools: { write: false }\n---\nB\n')
    await put('project/.opencode/agents/deep/z.md', '---\ndescription: d\nmode: primary\n---\nB\n')
    const { agents, diagnostics } = await load()
    expect(diagnostics).toEqual([])
    expect(agents.map(({ name, mode }) => [name, mode])).toEqual([
      ['x', 'subagent'],
      ['y', 'all'],
      ['deep/z', 'primary'],
    ])
  })

  test('are looked for from the folder up to the root of its repository, and not above', async () => {
    await mkdir(join(root, 'repo/.git'), { recursive: true })
    await put('.troupe/agents/above.md', agent('above'))
    await put('repo/.troupe/agents/top.md', agent('top'))
    await put('repo/.troupe/agents/same.md', agent('same', 'far'))
    await put('repo/packages/p/.troupe/agents/same.md', agent('same', 'near'))
    const { agents } = await load('repo/packages/p')
    expect(agents.map(({ name, description }) => [name, description])).toEqual([
      ['same', 'near'],
      ['top', 'd'],
    ])
  })

  test('a folder without a repository is its own root', async () => {
    await put('.troupe/agents/above.md', agent('above'))
    await put('project/.troupe/agents/own.md', agent('own'))
    expect((await load()).agents.map(({ name }) => name)).toEqual(['own'])
  })

  test('an agent with disable hides all of its name', async () => {
    await put('builtin/a.md', agent('a'))
    await put('project/.troupe/agents/a.md', '---\ndescription: d\ndisable: true\n---\n')
    expect((await load()).agents).toEqual([])
  })

  test('a README without frontmatter is no agent', async () => {
    await put('project/.troupe/agents/README.md', '# Our agents\n')
    expect(await load()).toEqual({ agents: [], diagnostics: [] })
  })
})

describe('the same name twice', () => {
  test('in one source the first path wins, always, with one diagnostic that names both', async () => {
    const first = await put('project/.troupe/agents/a.md', agent('same', 'a'))
    const second = await put('project/.troupe/agents/b.md', agent('same', 'b'))
    for (let i = 0; i < 20; i++) {
      const { agents, diagnostics } = await load()
      expect(agents.map(({ description }) => description)).toEqual(['a'])
      expect(diagnostics).toEqual([
        { path: second, severity: 'warning', message: expect.stringContaining(`${first} is used, not ${second}`) },
      ])
    }
  })

  test('in project and user: the project wins, with one diagnostic', async () => {
    const user = await put('user/agents/x.md', agent('same', 'user'))
    const project = await put('project/.claude/agents/y.md', agent('same', 'project'))
    const { agents, diagnostics } = await load()
    expect(agents.map(({ description }) => description)).toEqual(['project'])
    expect(diagnostics.map(({ message }) => message)).toEqual([
      expect.stringMatching(`${project} is used, not ${user}`),
    ])
  })

  test('a folder and a link to it are one', async () => {
    await put('project/.claude/agents/a.md', agent('a'))
    await mkdir(join(root, 'project/.troupe'))
    await symlink('../.claude/agents', join(root, 'project/.troupe/agents'))
    const { agents, diagnostics } = await load()
    expect([agents.length, diagnostics]).toEqual([1, []])
  })
})

describe('a bad file', () => {
  test('stops no other and has exactly one diagnostic', async () => {
    const folder = join(root, 'project/.troupe/agents')
    await put('project/.troupe/agents/good.md', agent('good'))
    const bad = ['c51-bad-indentation', 'c51-wrong-type', 'c51-no-closing-fence', 'c51-empty', 'c52-missing-space']
    for (const name of bad) await cp(join(fixtures, `${name}.md`), join(folder, `${name}.md`))
    await mkdir(join(folder, 'folder.md'))
    await symlink('nowhere', join(folder, 'link.md'))
    await put('project/.troupe/agents/long.md', `---\ndescription: d\n---\n${'x'.repeat(1024 * 1024)}`)
    await put('project/.troupe/agents/binary.md', Buffer.from([0x2d, 0x2d, 0x00, 0x01]))
    await put('project/.troupe/agents/latin.md', Buffer.from([0x2d, 0xe4, 0x0a]))
    execFileSync('mkfifo', [join(folder, 'pipe.md')])
    const { agents, diagnostics } = await load()
    expect(agents.map(({ name }) => name)).toEqual(['good'])
    const names = [...bad, 'folder', 'link', 'long', 'binary', 'latin', 'pipe']
    expect(diagnostics.map(({ path }) => path).sort()).toEqual(names.map((name) => join(folder, `${name}.md`)).sort())
    expect(diagnostics.map(({ severity }) => severity)).toEqual(names.map(() => 'error'))
    expect(diagnostics.find(({ path }) => path.endsWith('c51-wrong-type.md'))).toMatchObject({
      line: 3,
      message: expect.stringContaining('temperature'),
    })
  })

  test.skipIf(process.getuid?.() === 0)('that may not be read has a diagnostic', async () => {
    const path = await put('project/.troupe/agents/locked.md', agent('locked'))
    await chmod(path, 0)
    expect((await load()).diagnostics).toEqual([
      { path, severity: 'error', message: expect.stringContaining('may not be read') },
    ])
  })

  test('UTF-16 loads', async () => {
    await put('project/.troupe/agents/u.md', Buffer.from(`\uFEFF${agent('wide')}`, 'utf16le'))
    const { agents, diagnostics } = await load()
    expect([agents.map(({ name }) => name), diagnostics]).toEqual([['wide'], []])
  })
})

describe('the built-in agents', () => {
  async function builtin() {
    return loadAgents({ dir: root, worktree: root, userConfigDir: join(root, 'user'), builtinDir: builtinAgentsDir() })
  }

  test('load without a word', async () => {
    const { agents, diagnostics } = await builtin()
    expect(diagnostics).toEqual([])
    expect(agents.map(({ name }) => name)).toEqual(['explorer', 'fixer', 'general', 'lead', 'planner', 'reviewer'])
  })

  test('only lead is for people alone, and it may send all others', async () => {
    const { agents } = await builtin()
    const lead = agents.find(({ name }) => name === 'lead')!
    expect(spawnableFor(lead, agents).map(({ name }) => name)).toEqual([
      'explorer',
      'fixer',
      'general',
      'planner',
      'reviewer',
    ])
  })

  test('explorer and planner only read', async () => {
    const { agents } = await builtin()
    for (const name of ['explorer', 'planner']) {
      expect(agents.find((agent) => agent.name === name)!.tools).toEqual([
        { pattern: '*', allow: false },
        { pattern: 'read', allow: true },
        { pattern: 'glob', allow: true },
        { pattern: 'grep', allow: true },
      ])
    }
  })
})
