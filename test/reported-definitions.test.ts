import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createTroupe, type Diagnostic, type Troupe } from '../src/index.ts'
import { newHome } from './cli-process.ts'
import { createWorkplace, type Workplace } from './support/workplace.ts'

/** Faults that users of other programs reported, C48 to C52, seen from outside: what runs, and what a person reads. */
const fixtures = fileURLToPath(new URL('../src/definitions/fixtures/agents/', import.meta.url))
const script = { rules: [{ when: {}, reply: { text: 'said' } }] }
const good = '---\nname: good\ndescription: d\ntools: read\n---\nYou read.\n'
const folder = '.troupe/agents'

async function open(workplace: Workplace): Promise<Troupe> {
  const { dir, dataDir, env } = workplace
  const model = `scripted:${workplace.script(script)}`
  return await createTroupe({ dir, dataDir, env, model, host: 'inline' })
}

async function load(workplace: Workplace) {
  const troupe = await open(workplace)
  await troupe.close()
  return troupe
}

const errorsOf = ({ diagnostics }: { diagnostics: Diagnostic[] }) =>
  diagnostics.filter(({ severity }) => severity === 'error')

const namesOf = ({ agents }: Troupe) => agents.filter(({ source }) => source.kind !== 'builtin').map(({ name }) => name)

describe('a description with a colon (C48)', () => {
  test.each([
    ['Reviews code. Use for: pull requests'],
    ['Use when: the user says "do: it"'],
    ['a: b: c'],
    ['Helps. Examples: user: hi #1'],
  ])('%s', async (description) => {
    const workplace = createWorkplace({
      [`${folder}/a.md`]: `---\nname: a\ndescription: ${description}\ntools: read\n---\nB\n`,
    })
    const troupe = await load(workplace)
    expect(errorsOf(troupe)).toEqual([])
    expect(troupe.agents.find(({ name }) => name === 'a')).toMatchObject({ description, prompt: 'B' })
    expect(troupe.tools('a', 0).map(({ name }) => name)).toEqual(['read'])
  })
})

describe('bytes around the text (C49)', () => {
  const text = '---\nname: h\ndescription: d\ntools: read\n---\nBody\n'
  test.each<[string, string | Buffer]>([
    ['a byte-order mark', `\uFEFF${text}`],
    ['CRLF', text.replaceAll('\n', '\r\n')],
    ['a byte-order mark and CRLF', `\uFEFF${text.replaceAll('\n', '\r\n')}`],
    ['blanks after the fences', text.replaceAll('---', '---  \t')],
    ['UTF-16LE', Buffer.from(`\uFEFF${text}`, 'utf16le')],
    ['no line break at the end', text.trimEnd()],
  ])('%s', async (_what, bytes) => {
    const workplace = createWorkplace()
    writeFileSync(workplace.write(`${folder}/h.md`, ''), bytes)
    const troupe = await load(workplace)
    expect(errorsOf(troupe)).toEqual([])
    const agent = troupe.agents.find(({ name }) => name === 'h')
    expect(agent).toMatchObject({ name: 'h', description: 'd', prompt: 'Body' })
    expect(JSON.stringify(agent)).not.toMatch(/\\r|\uFEFF/)
    expect(troupe.tools('h', 0).map(({ name }) => name)).toEqual(['read'])
  })
})

describe('the ways to write tools (C50)', () => {
  const offered = async (tools: string) => {
    const workplace = createWorkplace({ [`${folder}/a.md`]: `---\nname: a\ndescription: d\n${tools}\n---\nB\n` })
    const troupe = await load(workplace)
    return { names: namesOf(troupe).length === 0 ? 'refused' : troupe.tools('a', 0).map(({ name }) => name), troupe }
  }

  test.each([
    ['tools: Read, Grep , Bash', ['bash', 'grep', 'read']],
    ['tools: [read, bash]', ['bash', 'read']],
    ['tools:\n  - Read\n  - Bash', ['bash', 'read']],
    ['tools: ""', []],
    ['tools: []', []],
    ['tools: Read,,', ['read']],
    ['tools: read_file, shell', ['bash', 'read']],
    ['tools: [NoSuchTool]', []],
    ['tools: [NoSuchTool, read]', ['read']],
  ])('%j offers exactly what it lists', async (tools, expected) => {
    const { names } = await offered(tools)
    expect([...names].sort()).toEqual(expected)
  })

  test.each(['tools:\n  bash: false', 'tools:\n  read: true\n  bash: false', 'disallowedTools: Bash'])(
    '%j takes one away and leaves the others',
    async (tools) => {
      const { names } = await offered(tools)
      expect(names).toContain('read')
      expect(names).toContain('edit')
      expect(names).not.toContain('bash')
    },
  )

  test.each(['tools: 5', 'tools: *', 'tools: true', 'tools: { read: maybe }', 'tools: [[read]]'])(
    '%j is refused, never taken for all of them',
    async (tools) => {
      const { names, troupe } = await offered(tools)
      expect(names).toBe('refused')
      expect(errorsOf(troupe)).toHaveLength(1)
    },
  )
})

describe('one bad file (C51)', () => {
  const bad = ['c51-bad-indentation', 'c51-wrong-type', 'c51-no-closing-fence', 'c51-empty', 'c52-missing-space']

  test('takes nothing down: the others run, it is named once with its path, and doctor lists it', async () => {
    const { run, put, dir } = newHome()
    put(`${folder}/good.md`, good)
    for (const name of bad) cpSync(join(fixtures, `${name}.md`), join(dir, folder, `${name}.md`))
    mkdirSync(join(dir, folder, 'folder.md'))
    const model = ['--model', `scripted:${put('s.yaml', JSON.stringify(script))}`]
    const { code, stdout, stderr } = await run(['run', 'go', '--agent', 'good', ...model])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'said\n' })
    const named = stderr.split('\n').filter((line) => line.includes(': error: '))
    expect(named.length + Number(/and (\d+) more/.exec(stderr)?.[1] ?? 0)).toBe(bad.length + 1)
    const doctor = await run(['doctor', ...model])
    for (const name of [...bad, 'folder']) {
      expect(doctor.stdout.split('\n').filter((line) => line.includes(`/${name}.md`))).toHaveLength(1)
    }
    const listed = JSON.parse((await run(['agents', '--json'])).stdout).map(({ name }: { name: string }) => name)
    expect(listed).toContain('good')
    expect(listed).not.toContain('h')
  })

  test.skipIf(process.getuid?.() === 0)('that may not be read is named as well', async () => {
    const workplace = createWorkplace({ [`${folder}/good.md`]: good })
    chmodSync(workplace.write(`${folder}/locked.md`, good), 0)
    const troupe = await load(workplace)
    expect(namesOf(troupe)).toEqual(['good'])
    expect(errorsOf(troupe).map(({ path }) => path)).toEqual([join(workplace.dir, folder, 'locked.md')])
  })

  test('that is asked for cannot be run, and one line says which there are', async () => {
    const { run, put } = newHome()
    put(`${folder}/ro.md`, '---\nname: ro\nskill:true\npermission:\n  edit: deny\n---\nB\n')
    const { code, stderr } = await run([
      'run',
      'go',
      '--agent',
      'ro',
      '--model',
      `scripted:${put('s.yaml', JSON.stringify(script))}`,
    ])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^troupe: There is no agent "ro"\. .*lead/m)
  })
})

describe('bad YAML never yields an agent with fewer restrictions (C52)', () => {
  const broken = [
    ['a missing blank', 'skill:true\npermission:\n  edit: deny'],
    ['tabs', 'permission:\n\tedit: deny'],
    ['an open bracket', 'tools: [read'],
    ['a value on the wrong level', 'tools:\nread'],
    ['an alias', 'tools: *reading'],
  ] as const

  test.each(broken)('%s: refused, the second time as the first', async (_what, fields) => {
    const text = `---\nname: ro\n${fields}\n---\nB\n`
    const workplace = createWorkplace({ [`${folder}/ro.md`]: text, [`${folder}/copy.md`]: text })
    for (let time = 1; time <= 2; time += 1) {
      const troupe = await load(workplace)
      expect(namesOf(troupe)).toEqual([])
      expect(errorsOf(troupe)).toHaveLength(2)
    }
  })

  test.each(['general.md', 'named-otherwise.md'])(
    'in a file (%s) that was to narrow a built-in agent: the built-in one does not take its place',
    async (file) => {
      const text = '---\nname: general\ntools:[read]\npermission:\n  edit: deny\n---\nB\n'
      const workplace = createWorkplace({ [`${folder}/${file}`]: text })
      const troupe = await load(workplace)
      expect(troupe.agents.map(({ name }) => name)).not.toContain('general')
      expect(errorsOf(troupe)).toHaveLength(1)
      expect(errorsOf(troupe)[0]?.message).toMatch(/no agent "general": the built-in general/)
    },
  )

  test('in a file that a better one comes before changes nothing', async () => {
    const workplace = createWorkplace({
      [`${folder}/good.md`]: good,
      '.claude/agents/good.md': '---\nname: good\ntools:[read]\n---\nB\n',
    })
    const troupe = await load(workplace)
    expect(namesOf(troupe)).toEqual(['good'])
  })
})
