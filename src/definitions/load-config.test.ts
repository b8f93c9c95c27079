import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig, rulesOf } from './load-config.ts'

let root = ''

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-config-')))
  await mkdir(join(root, 'project'))
})

afterEach(() => rm(root, { recursive: true, force: true }))

async function put(path: string, text: string): Promise<string> {
  const full = join(root, path)
  await mkdir(dirname(full), { recursive: true })
  await writeFile(full, text)
  return full
}

function load(trusted = true) {
  return loadConfig({ worktree: join(root, 'project'), userConfigDir: join(root, 'user'), trusted })
}

describe('configuration', () => {
  test('has defaults without any file', async () => {
    const { config, sources, rules, unused } = await load()
    expect(config).toMatchObject({
      workers: 2,
      host: 'threads',
      toolset: 'auto',
      permission: {},
      limits: {},
      servers: {},
    })
    expect([sources, rules, unused]).toEqual([[], [], undefined])
  })

  test('of the project counts over the user, part by part', async () => {
    const user = await put(
      'user/config.yaml',
      'model: ollama/a\nworkers: 3\nlimits: { maxTurns: 5 }\nservers: { ollama: { slots: 2 } }\n',
    )
    const project = await put(
      'project/troupe.yaml',
      'model: ollama/b\nlimits: { maxTokens: 9 }\nservers: { ollama: { contextTokens: 2048 } }\n',
    )
    const { config, sources } = await load()
    expect(config).toMatchObject({
      model: 'ollama/b',
      workers: 3,
      limits: { maxTurns: 5, maxTokens: 9 },
      servers: { ollama: { slots: 2, contextTokens: 2048 } },
    })
    expect(sources).toEqual([user, project])
  })

  test('gives the rules of both files in order, the project last', async () => {
    const user = await put('user/config.yaml', 'permission: { bash: { "*": ask, "git *": allow }, "*": deny }\n')
    const project = await put('project/troupe.yaml', 'permission: { bash: { "npm test": allow } }\n')
    expect((await load()).rules).toEqual([
      { key: 'bash', pattern: '*', action: 'ask', source: 'user', place: { path: user, line: 1 } },
      { key: 'bash', pattern: 'git *', action: 'allow', source: 'user', place: { path: user, line: 1 } },
      { key: '*', pattern: '*', action: 'deny', source: 'user', place: { path: user, line: 1 } },
      { key: 'bash', pattern: 'npm test', action: 'allow', source: 'project', place: { path: project, line: 1 } },
    ])
  })

  test('of an untrusted project is not even read, and is named', async () => {
    const path = await put('project/troupe.yaml', 'permission: { bash: allow\n')
    const { rules, sources, unused } = await load(false)
    expect([rules, sources, unused]).toEqual([[], [], path])
  })

  test('of a trusted project may not send code elsewhere or allow everything', async () => {
    await put(
      'project/troupe.yaml',
      'servers: { ollama: { url: "http://far.example:11434", slots: 4 }, near: { url: "http://127.0.0.1:9" } }\npermission: { "*": allow, bash: ask }\n',
    )
    const { config, rules, diagnostics } = await load()
    expect(config.servers).toEqual({ ollama: { slots: 4 }, near: { url: 'http://127.0.0.1:9' } })
    expect(rules).toMatchObject([{ key: 'bash', pattern: '*', action: 'ask', source: 'project' }])
    expect(diagnostics.map(({ message }) => message)).toEqual([
      expect.stringContaining('servers.ollama.url'),
      expect.stringContaining('permission.*'),
    ])
  })

  test('of a trusted project may not open private networks to webfetch', async () => {
    await put('user/config.yaml', 'webfetch: { allowHosts: [wiki.local] }\n')
    await put('project/troupe.yaml', 'webfetch: { allowHosts: ["*"] }\n')
    const { config, diagnostics } = await load()
    expect(config.webfetch).toEqual({ allowHosts: ['wiki.local'] })
    expect(diagnostics.map(({ message }) => message)).toEqual([expect.stringContaining('webfetch.allowHosts')])
  })

  test('rules know their lines and keep their order, numbers included', async () => {
    const path = await put('user/config.yaml', 'permission:\n  bash:\n    "*": allow\n    "1": deny\n  edit: ask\n')
    expect((await load()).rules).toEqual([
      { key: 'bash', pattern: '*', action: 'allow', source: 'user', place: { path, line: 3 } },
      { key: 'bash', pattern: '1', action: 'deny', source: 'user', place: { path, line: 4 } },
      { key: 'edit', pattern: '*', action: 'ask', source: 'user', place: { path, line: 5 } },
    ])
  })

  test.each(['?*', '*', 'b*', 'ex*_directory'])(
    'of a trusted project may allow nothing by a key of wildcards: %s',
    async (key) => {
      const path = await put('project/troupe.yaml', `workers: 2\npermission:\n  "${key}": { "x": allow }\n`)
      const { rules, diagnostics } = await load()
      expect(rules).toEqual([])
      expect(diagnostics).toMatchObject([{ path, line: 3, message: expect.stringContaining(`permission.${key}`) }])
    },
  )

  test('that is a link out of the project is not used, trusted or not', async () => {
    const path = await put('elsewhere.yaml', 'workers: 7\n')
    await symlink(path, join(root, 'project/troupe.yaml'))
    for (const trusted of [true, false]) {
      const { config, diagnostics, unused } = await load(trusted)
      expect([config.workers, unused]).toEqual([2, undefined])
      expect(diagnostics).toMatchObject([{ message: expect.stringContaining('a link to a file outside') }])
    }
  })

  test('that is a link within the project is used', async () => {
    await put('project/config/troupe.yaml', 'workers: 7\n')
    await symlink('config/troupe.yaml', join(root, 'project/troupe.yaml'))
    expect((await load()).config.workers).toBe(7)
  })

  test('that is a pipe is refused, and nobody waits for it', async () => {
    execFileSync('mkfifo', [join(root, 'project/troupe.yaml')])
    await expect(load()).rejects.toMatchObject({
      code: 'bad-config',
      message: expect.stringContaining('no regular file'),
    })
  })

  test('keeps what the user denies at depth', async () => {
    await put('user/config.yaml', 'denyAtDepth: [webfetch]\n')
    await put('project/troupe.yaml', 'denyAtDepth: [bash]\n')
    expect((await load()).config.denyAtDepth).toEqual(['webfetch', 'bash'])
  })

  test.each([
    ['an unknown key', 'model: a/b\nwrokers: 3\n', ':2: "wrokers" is no setting. Known: model, workers'],
    ['an unknown limit', 'limits:\n  maxTurn: 3\n', ':2: "limits.maxTurn" is no setting. Known: maxTurns'],
    ['a wrong type', 'model: a/b\nworkers: many\n', ':2: "workers": Invalid input: expected number'],
    ['a wrong action', 'permission:\n  edit: ask\n  bash:\n    "git *": maybe\n', ':4: "permission.bash'],
    ['an empty pattern', 'permission:\n  bash:\n    "": allow\n', ':3: permission: a pattern is empty'],
    ['a control character', 'permission:\n  bash:\n    "a\\x07": deny\n', ':3: permission: a pattern holds a control'],
    ['broken YAML', 'model: [a\nworkers: 1\n', ':2: '],
    ['a list', '- a\n- b\n', ':1: Invalid input: expected object'],
    ['a key twice', 'workers: 1\nworkers: 2\n', ':2: '],
  ])('with %s is refused with path, line and reason', async (_, text, message) => {
    const path = await put('user/config.yaml', text)
    const error = await load().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'bad-config', message: expect.stringContaining(`${path}${message}`) })
  })

  test('that is a folder is refused', async () => {
    await mkdir(join(root, 'user/config.yaml'), { recursive: true })
    await expect(load()).rejects.toMatchObject({ code: 'bad-config', message: expect.stringContaining('EISDIR') })
  })

  test('rules keep the order of their map', () => {
    expect(rulesOf({ edit: 'deny', bash: { '*': 'ask', 'ls *': 'allow' } }, 'flag')).toEqual([
      { key: 'edit', pattern: '*', action: 'deny', source: 'flag' },
      { key: 'bash', pattern: '*', action: 'ask', source: 'flag' },
      { key: 'bash', pattern: 'ls *', action: 'allow', source: 'flag' },
    ])
  })
})
