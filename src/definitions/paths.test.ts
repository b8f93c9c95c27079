import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { builtinAgentsDir, builtinSkillsDir, findWorktree, userConfigDir } from './paths.ts'

let root = ''

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-paths-')))
})

afterEach(() => rm(root, { recursive: true, force: true }))

describe('the worktree', () => {
  test('is the nearest folder with .git, be it a folder or the file of a linked worktree', async () => {
    await mkdir(join(root, 'repo/.git'), { recursive: true })
    await mkdir(join(root, 'repo/linked/deep'), { recursive: true })
    expect(findWorktree(join(root, 'repo/linked/deep'))).toBe(join(root, 'repo'))
    await writeFile(join(root, 'repo/linked/.git'), 'gitdir: elsewhere\n')
    expect(findWorktree(join(root, 'repo/linked/deep'))).toBe(join(root, 'repo/linked'))
  })

  test('is the folder itself where there is no repository', () => {
    expect(findWorktree(root)).toBe(root)
  })

  test('is never the root of the file system', () => {
    expect(() => findWorktree('/')).toThrow(
      expect.objectContaining({ code: 'bad-dir', message: expect.stringContaining('--dir') }),
    )
  })

  test('of a folder that is not there is an error that says so', () => {
    expect(() => findWorktree(join(root, 'missing'))).toThrow(expect.objectContaining({ code: 'bad-dir' }))
  })

  test('follows the real current folder, not a stale PWD', async () => {
    await mkdir(join(root, 'a'))
    await mkdir(join(root, 'b'))
    const { outputFiles } = await build({
      entryPoints: [fileURLToPath(new URL('paths.ts', import.meta.url))],
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: join(root, 'paths.mjs'),
      write: false,
    })
    const program = join(root, 'where.mjs')
    await writeFile(program, `${outputFiles[0]!.text}\nconsole.log(findWorktree(process.cwd()))`)
    const out = execFileSync(process.execPath, [program], {
      cwd: join(root, 'b'),
      env: { ...process.env, PWD: join(root, 'a') },
    })
    expect(out.toString().trim()).toBe(join(root, 'b'))
  })
})

describe('folders of the program', () => {
  test('the user configuration is in TROUPE_HOME, else in the XDG folder, else under the home folder', () => {
    expect(userConfigDir({ TROUPE_HOME: '/t', XDG_CONFIG_HOME: '/x', HOME: '/h' })).toBe('/t/config')
    expect(userConfigDir({ XDG_CONFIG_HOME: '/x', HOME: '/h' })).toBe('/x/troupe')
    expect(userConfigDir({ XDG_CONFIG_HOME: 'relative', HOME: '/h' })).toBe('/h/.config/troupe')
  })

  test('built-in definitions are there', () => {
    expect(existsSync(join(builtinAgentsDir(), 'lead.md'))).toBe(true)
    expect(existsSync(join(builtinSkillsDir(), 'map-a-repository', 'SKILL.md'))).toBe(true)
  })
})
