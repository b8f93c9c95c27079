import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadSkillBody, loadSkills } from './load-skills.ts'
import { builtinSkillsDir } from './paths.ts'

const fixtures = fileURLToPath(new URL('fixtures/skills/', import.meta.url))
let root = ''

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-skills-')))
})

afterEach(() => rm(root, { recursive: true, force: true }))

async function put(path: string, text: string): Promise<string> {
  const full = join(root, path)
  await mkdir(dirname(full), { recursive: true })
  await writeFile(full, text)
  return full
}

function take(fixture: string, folder = `project/.troupe/skills/${fixture}`): Promise<void> {
  return cp(join(fixtures, fixture), join(root, folder), { recursive: true })
}

async function load(builtinDir = join(root, 'builtin')) {
  const dir = join(root, 'project')
  await mkdir(dir, { recursive: true })
  return loadSkills({ dir, worktree: dir, userConfigDir: join(root, 'user'), builtinDir })
}

test('skills are listed with name, description and path', async () => {
  await take('plain')
  const path = join(root, 'project/.troupe/skills/plain/SKILL.md')
  expect(await load()).toEqual({
    skills: [{ name: 'deploy', description: 'Deploys.', path, source: { kind: 'project' } }],
    diagnostics: [],
  })
})

test('folders of other programs count, nested ones and links too', async () => {
  await take('plain', 'project/.claude/skills/group/plain')
  await take('colon', 'project/.opencode/skill/colon')
  await take('run-at-load', 'elsewhere/run')
  await mkdir(join(root, 'project/.opencode/skills'), { recursive: true })
  await symlink(join(root, 'elsewhere/run'), join(root, 'project/.opencode/skills/run'))
  expect((await load()).skills.map(({ name }) => name)).toEqual(['deploy', 'colon', 'run'])
})

test('a broken description is kept, and allowed-tools said to be unused', async () => {
  await take('colon')
  const { skills, diagnostics } = await load()
  expect(skills.map(({ description }) => description)).toEqual(['Use when: asked'])
  expect(diagnostics).toMatchObject([
    { severity: 'warning', line: 4, message: expect.stringContaining('allowed-tools') },
  ])
})

test('without frontmatter the name is the folder and the description the first paragraph, with a warning', async () => {
  await take('no-frontmatter')
  const { skills, diagnostics } = await load()
  expect(skills).toMatchObject([{ name: 'no-frontmatter', description: 'Cleans the workspace up.' }])
  expect(diagnostics).toMatchObject([{ severity: 'warning', message: expect.stringContaining('No frontmatter') }])
})

test('what models may not choose is not offered, and not when that is unclear', async () => {
  await take('for-people')
  await take('no-space')
  const { skills, diagnostics } = await load()
  expect(skills).toEqual([])
  expect(diagnostics.map(({ severity, line }) => [severity, line])).toEqual([
    ['error', 4],
    ['warning', 4],
  ])
})

test('a broken skill stops no other and has one diagnostic', async () => {
  await take('broken')
  await take('plain')
  await put('project/.troupe/skills/empty/SKILL.md', '')
  await mkdir(join(root, 'project/.troupe/skills/folder/SKILL.md'), { recursive: true })
  const { skills, diagnostics } = await load()
  expect(skills.map(({ name }) => name)).toEqual(['deploy'])
  expect(diagnostics.map(({ path, severity }) => [path.split('/').at(-2), severity]).sort()).toEqual([
    ['broken', 'error'],
    ['empty', 'error'],
    ['folder', 'error'],
  ])
})

test('of one name the project wins over the user, the same each time, with one diagnostic for both paths', async () => {
  const user = await put('user/skills/x/SKILL.md', '---\nname: deploy\ndescription: G\n---\nB\n')
  const project = await put('project/.troupe/skills/y/SKILL.md', '---\nname: deploy\ndescription: P\n---\nB\n')
  for (let i = 0; i < 20; i++) {
    const { skills, diagnostics } = await load()
    expect(skills.map(({ description }) => description)).toEqual(['P'])
    expect(diagnostics.map(({ message }) => message)).toEqual([
      expect.stringMatching(`${project} is used, not ${user}`),
    ])
  }
})

test('a long skill is listed from its head and read whole on use', async () => {
  const long = `${'word '.repeat(150_000)}end`
  const path = await put(
    'project/.troupe/skills/long/SKILL.md',
    `---\nname: long\ndescription: d\n---\nFirst.\n\n${long}`,
  )
  await put('project/.troupe/skills/late/SKILL.md', `---\nname: late\ndescription: ${'x'.repeat(40_000)}\n---\nB\n`)
  expect((await load()).skills.map(({ name, description }) => [name, description.length])).toEqual([
    ['late', 40_000],
    ['long', 1],
  ])
  expect(await loadSkillBody(path)).toBe(`First.\n\n${long}`)
})

test('nothing in a skill is run when it is listed or read', async () => {
  await take('run-at-load')
  const { skills } = await load()
  const body = await loadSkillBody(skills[0]!.path)
  expect(body).toBe('Today: !`touch ran`\n\n```\n!`touch ran`\n```\n')
  expect(existsSync('ran')).toBe(false)
})

test('the built-in skills load without a word', async () => {
  const { skills, diagnostics } = await load(builtinSkillsDir())
  expect(diagnostics).toEqual([])
  expect(skills.map(({ name }) => name)).toEqual([
    'find-a-cause',
    'map-a-repository',
    'review-a-change',
    'write-a-test',
  ])
})
