import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { transform } from 'esbuild'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { exitCodes } from '../src/cli/exit-codes.ts'
import { loadAgents } from '../src/definitions/load-agents.ts'
import { loadConfig } from '../src/definitions/load-config.ts'
import { loadSkills } from '../src/definitions/load-skills.ts'
import { parseScript } from '../src/models/scripted/script-file.ts'
import { newHome } from './cli-process.ts'
import { blocksOf, loadDocument, root } from './support/documents.ts'

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'troupe-docs-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

function put(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

describe('files to copy', () => {
  test('every YAML block loads with the parser that it is for', async () => {
    for (const { text, at } of blocksOf('yaml')) {
      if (/^rules:/m.test(text)) expect(parseScript(text, at).rules.length, at).toBeGreaterThan(0)
      else if (/^# (troupe|config)\.yaml/.test(text)) await expectConfig(text, at)
      // A part of an agent file, or a workflow of a CI system.
      else
        expect(Object.keys(parse(text)), at).toSatisfy(
          (keys: string[]) => keys.includes('jobs') || keys.includes('restart'),
        )
    }
  })

  async function expectConfig(text: string, at: string): Promise<void> {
    const worktree = folder()
    const userConfigDir = join(worktree, 'user')
    put(text.startsWith('# troupe.yaml') ? join(worktree, 'troupe.yaml') : join(userConfigDir, 'config.yaml'), text)
    const loaded = await loadConfig({ worktree, userConfigDir, trusted: true })
    expect(loaded.diagnostics, at).toEqual([])
    expect(loaded.sources, at).toHaveLength(1)
  }

  test('every agent and skill in a Markdown block loads without a complaint', async () => {
    const blocks = blocksOf('markdown')
    expect(blocks.length).toBeGreaterThan(2)
    for (const { text, at } of blocks) {
      const dir = folder()
      const isSkill = at.startsWith('docs/skills.md')
      put(join(dir, isSkill ? '.troupe/skills/one/SKILL.md' : '.troupe/agents/one.md'), text)
      const request = { dir, worktree: dir, userConfigDir: join(dir, 'none'), builtinDir: join(dir, 'none') }
      const loaded = isSkill ? (await loadSkills(request)).skills : (await loadAgents(request)).agents
      const { diagnostics } = isSkill ? await loadSkills(request) : await loadAgents(request)
      expect({ at, diagnostics, count: loaded.length }).toEqual({ at, diagnostics: [], count: 1 })
      expect(text, at).toContain(`name: ${loaded[0]?.name}\n`)
    }
  })

  test('JSON blocks are JSON, one value a line', () => {
    for (const { text, at } of blocksOf('json')) {
      for (const line of text.trim().split('\n')) expect(() => JSON.parse(line), at).not.toThrow()
    }
  })

  test('the scripts in examples/ load', () => {
    for (const name of ['rehearsal.yaml', 'ci-model.yaml']) {
      const path = join(root, 'examples', name)
      expect(parseScript(readFileSync(path, 'utf8'), path).rules.length).toBeGreaterThan(2)
    }
  })

  test('docs/permissions.md shows what troupe permissions explain says of its rules', async () => {
    const { home, run } = newHome()
    const { blocks } = loadDocument('docs/permissions.md')
    const [rules, command, output] = ['yaml', 'sh', 'text'].map(
      (language) => blocks.find((block) => block.language === language)?.text,
    )
    const path = join(home, '.config/troupe/config.yaml')
    put(path, rules ?? '')
    const asked = /^troupe permissions explain '(.*)'\n?$/.exec(command ?? '')?.[1] ?? ''
    const { stdout } = await run(['permissions', 'explain', asked])
    expect(stdout.replaceAll(path, 'config.yaml').trim()).toBe(output?.trim())
  })

  test('the example agent writes its entry under its scripted model, and nothing else', async () => {
    const { dir, put: write, run } = newHome()
    spawnSync('git', ['init', '-q'], { cwd: dir })
    write('.troupe/agents/changelog-writer.md', readFileSync(join(root, 'examples/agents/changelog-writer.md'), 'utf8'))
    const changes = write('CHANGELOG.md', '# Changes\n\n## Next\n')
    const readme = write('README.md', 'a\n')
    const model = `scripted:${join(root, 'examples/ci-model.yaml')}`
    const args = ['run', 'Write the entry.', '--agent', 'changelog-writer', '--model', model]

    const trusted = await run([...args, '--trust'])
    expect(trusted, trusted.stderr).toMatchObject({ code: exitCodes.done, stdout: expect.stringContaining('Written') })
    expect(readFileSync(changes, 'utf8')).toBe('# Changes\n\n## Next\n\n- What is new.\n')
    expect(readFileSync(readme, 'utf8')).toBe('a\n')

    // Of a project that nobody trusts, with nobody to ask, the agent may only read: its script expects more.
    write('CHANGELOG.md', '# Changes\n\n## Next\n')
    const untrusted = await run(args)
    expect(untrusted.code).toBe(exitCodes.failed)
    expect(untrusted.stderr).toMatch(/may only read \(changelog-writer\): this folder is not trusted.*--trust/)
    expect(readFileSync(changes, 'utf8')).toBe('# Changes\n\n## Next\n')
  })
})

describe('TypeScript', () => {
  const example = readFileSync(join(root, 'examples/library.ts'), 'utf8')

  test('the README shows the example as it is, in ten lines', () => {
    expect(loadDocument('README.md').blocks.find(({ language }) => language === 'ts')?.text).toBe(example)
    expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(10)
  })

  test('every block and example type-checks', () => {
    const dir = folder()
    const blocks = blocksOf('ts').map(({ text, at }) => put(join(dir, `${at.replaceAll(/[^\w.-]/g, '_')}.ts`), text))
    expect(blocks.length).toBeGreaterThan(4)
    const wrong = put(join(dir, 'wrong.ts'), "import { createTroupe } from 'troupe'\ncreateTroupe({ dir: 1 })\n")
    const complaints = typeCheck(dir, [...blocks, wrong, join(root, 'examples/library.ts')])
    expect(complaints).toEqual([expect.stringMatching(/wrong\.ts\(2,16\): .*'number' is not assignable/)])
  })

  /** Complaints about these files; those about `src` are another check's. */
  function typeCheck(dir: string, files: string[]): string[] {
    const options = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        paths: { troupe: [join(root, 'src/index.ts')] },
        typeRoots: [join(root, 'node_modules/@types')],
      },
      include: [],
      files: [...files, join(root, 'src/workers/comlink-node.d.ts')],
    }
    put(join(dir, 'package.json'), '{ "type": "module" }')
    const project = put(join(dir, 'tsconfig.json'), JSON.stringify(options))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', project, '--pretty', 'false'], { encoding: 'utf8' })
    return stdout.split('\n').filter((line) => /^\S/.test(line) && !line.startsWith('src/'))
  }

  test('the example runs in a project that has troupe installed', async () => {
    const home = folder()
    const project = join(home, 'project')
    mkdirSync(join(project, 'node_modules'), { recursive: true })
    symlinkSync(root, join(project, 'node_modules/troupe'))
    const script = put(join(home, 'model.yaml'), exampleScript)
    put(join(home, '.config/troupe/config.yaml'), `model: "scripted:${script}"\n`)
    const { code } = await transform(example, { loader: 'ts' })
    const program = put(join(project, 'library.mjs'), code)
    const { status, stdout, stderr } = await runProgram(program, { cwd: project, home })
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: 'done: One agent was here.\n',
      stderr: 'exp-1 (explorer): completed\n',
    })
  })

  const exampleScript = `
rules:
  - when: { depth: 0, turn: 1 }
    reply: { calls: [{ tool: task, args: { agent: explorer, prompt: Look., background: true } }] }
  - when: { depth: 0, results: 1 }
    reply: { text: One agent was here. }
  - when: {}
    reply: { text: Seen. }
`
})

async function runProgram(program: string, { cwd, home }: { cwd: string; home: string }) {
  const child = spawn(process.execPath, [program], { cwd, env: { PATH: process.env.PATH, HOME: home } })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk
  })
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { status, ...output }
}
