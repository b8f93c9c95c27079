import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isTrusted, loadTrust, refuseTrust, trust } from './trust.ts'

let root = ''

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-trust-')))
  await mkdir(join(root, 'project'))
})

afterEach(() => rm(root, { recursive: true, force: true }))

async function put(path: string, text: string): Promise<string> {
  const full = join(root, path)
  await mkdir(dirname(full), { recursive: true })
  await writeFile(full, text)
  return full
}

describe('trust', () => {
  const trusted = () => isTrusted(join(root, 'data'), join(root, 'project'))

  test('lasts until the configuration changes', async () => {
    await put('project/troupe.yaml', 'workers: 1\n')
    expect(await trusted()).toBe(false)
    await trust(join(root, 'data'), join(root, 'project'))
    expect(await trusted()).toBe(true)
    await put('project/troupe.yaml', 'workers: 4\n')
    expect(await trusted()).toBe(false)
    await put('project/troupe.yaml', 'workers: 1\n')
    expect(await trusted()).toBe(true)
  })

  test('of a folder without configuration ends when it gets one', async () => {
    await trust(join(root, 'data'), join(root, 'project'))
    expect(await trusted()).toBe(true)
    await put('project/troupe.yaml', 'workers: 4\n')
    expect(await trusted()).toBe(false)
  })

  test('goes to the real folder alone', async () => {
    await mkdir(join(root, 'other'))
    await trust(join(root, 'data'), join(root, 'project'))
    expect(await isTrusted(join(root, 'data'), join(root, 'other'))).toBe(false)
    expect(await isTrusted(join(root, 'data'), join(root, 'project', '..', 'project'))).toBe(true)
  })

  test('ends when an agent of the folder allows more, and not when it is only worded anew', async () => {
    const agent = (permission: string, text: string) => `---\ndescription: d\npermission: ${permission}\n---\n${text}\n`
    await put('project/.troupe/agents/a.md', agent('{ bash: { "npm test": allow } }', 'One.'))
    await trust(join(root, 'data'), join(root, 'project'))
    await put('project/.troupe/agents/a.md', agent('{ bash: { "npm test": allow } }', 'Two.'))
    expect(await trusted()).toBe(true)
    await put('project/.troupe/agents/a.md', agent('{ bash: { "npm *": allow } }', 'Two.'))
    expect(await loadTrust(join(root, 'data'), join(root, 'project'))).toMatchObject({
      trusted: false,
      changed: ['.troupe/agents/a.md'],
    })
  })

  test('ends when there is a new agent that allows, not when there is one that only narrows', async () => {
    await trust(join(root, 'data'), join(root, 'project'))
    await put('project/.claude/agents/b.md', '---\ndescription: d\npermission: { edit: deny }\n---\nB.\n')
    expect(await trusted()).toBe(true)
    await put('project/.claude/agents/c.md', '---\ndescription: d\ntools: Bash, Bash(rm *)\n---\nC.\n')
    expect(await trusted()).toBe(false)
  })

  test('ends when a program of a skill changes', async () => {
    await put('project/.troupe/skills/s/SKILL.md', '---\nname: s\ndescription: d\n---\nRun run.sh.\n')
    await put('project/.troupe/skills/s/run.sh', 'true\n')
    await trust(join(root, 'data'), join(root, 'project'))
    expect(await trusted()).toBe(true)
    await put('project/.troupe/skills/s/run.sh', 'touch M\n')
    expect(await trusted()).toBe(false)
    await writeFile(join(root, 'project/.troupe/skills/s/tool'), Buffer.from([0x7f, 0x45, 0xff, 0]))
    await trust(join(root, 'data'), join(root, 'project'))
    expect(await trusted()).toBe(true)
    await writeFile(join(root, 'project/.troupe/skills/s/tool'), Buffer.from([0x7f, 0x45, 0xfe, 0]))
    expect(await trusted()).toBe(false)
  })

  test('from a folder inside counts for the agents on the way up, and leaves those of other folders', async () => {
    await mkdir(join(root, 'project/.git'))
    const file = '---\ndescription: d\npermission: { bash: { make: allow } }\n---\nX.\n'
    await put('project/.troupe/agents/a.md', file)
    await put('project/sub/.troupe/agents/b.md', file)
    const [data, project, sub] = [join(root, 'data'), join(root, 'project'), join(root, 'project/sub')]
    await trust(data, project)
    expect([await isTrusted(data, project), await isTrusted(data, project, sub)]).toEqual([true, false])
    await trust(data, project, sub)
    expect([await isTrusted(data, project), await isTrusted(data, project, sub)]).toEqual([true, true])
  })

  test('that was given by an earlier version still counts, and from then on for all there is', async () => {
    const text = 'workers: 1\n'
    await put('project/troupe.yaml', text)
    const sha256 = (value: string) => createHash('sha256').update(value).digest('hex')
    const worktree = join(root, 'project')
    const record = await put(
      `data/trusted/${sha256(worktree)}.json`,
      JSON.stringify({ worktree, config: sha256(text) }),
    )
    expect(await trusted()).toBe(true)
    expect(JSON.parse(await readFile(record, 'utf8'))).toHaveProperty('parts')
    await put('project/troupe.yaml', 'workers: 2\n')
    expect(await trusted()).toBe(false)
  })

  test('of an earlier version does not cover a configuration that came since', async () => {
    const worktree = join(root, 'project')
    const name = createHash('sha256').update(worktree).digest('hex')
    await put(`data/trusted/${name}.json`, JSON.stringify({ worktree, config: 'none' }))
    expect(await trusted()).toBe(true)
    await rm(join(root, 'data'), { recursive: true })
    await put(`data/trusted/${name}.json`, JSON.stringify({ worktree, config: 'none' }))
    await put('project/troupe.yaml', 'workers: 2\n')
    expect(await trusted()).toBe(false)
  })

  test.each(['', '{', 'null', '[]', '{"worktree":7}', '{"parts":{}}'])(
    'of a damaged record (%s) is none',
    async (text) => {
      await put('project/troupe.yaml', 'workers: 1\n')
      await trust(join(root, 'data'), join(root, 'project'))
      const [name = ''] = await readdir(join(root, 'data/trusted'))
      await put(`data/trusted/${name}`, text)
      expect(await trusted()).toBe(false)
    },
  )

  test('that was refused is remembered until the folder brings something else', async () => {
    const state = () => loadTrust(join(root, 'data'), join(root, 'project'))
    await put('project/troupe.yaml', 'workers: 1\n')
    expect(await state()).toMatchObject({ trusted: false, refused: false })
    await refuseTrust(join(root, 'data'), join(root, 'project'))
    expect(await state()).toMatchObject({ trusted: false, refused: true })
    await put('project/troupe.yaml', 'workers: 2\n')
    expect(await state()).toMatchObject({ trusted: false, refused: false })
    await trust(join(root, 'data'), join(root, 'project'))
    expect(await state()).toMatchObject({ trusted: true, refused: false })
  })

  test('says what the folder brings, as lines', async () => {
    await put(
      'project/troupe.yaml',
      'permission: { bash: { "rm *": allow } }\nservers: { x: { url: "http://far.example" } }\n',
    )
    const { parts } = await loadTrust(join(root, 'data'), join(root, 'project'))
    expect(parts).toMatchObject([
      {
        path: 'troupe.yaml',
        lines: ['permission: {"bash":{"rm *":"allow"}}', 'servers: {"x":{"url":"http://far.example"}}'],
      },
    ])
  })

  test.each(['/proc/none', '/proc/none/deeper', '/dev/null/x'])(
    'that cannot be kept (%s) is an error, at once',
    async (data) => {
      await expect(trust(data, join(root, 'project'))).rejects.toThrow(/ENOENT|ENOTDIR|EACCES/)
    },
  )

  test('is kept from others', async () => {
    await chmod(root, 0o755)
    await trust(join(root, 'data'), join(root, 'project'))
    const { mode } = await import('node:fs').then(({ statSync }) => statSync(join(root, 'data/trusted')))
    expect(mode & 0o077).toBe(0)
  })
})
