import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { newHome, type RunningCli } from './cli-process.ts'

const hasTerminals = spawnSync('script', ['-qec', 'true', '/dev/null'], { input: '' }).status === 0

/** A model that touches M with the shell, then says what came of it. */
const touching = `
rules:
  - when: { turn: 1 }
    reply: { calls: [{ tool: bash, args: { command: "touch M" } }] }
  - when: { text: "^again$" }
    reply: { calls: [{ tool: bash, args: { command: "touch M" } }] }
  - when: {}
    reply: { text: "answer: {{last}}" }
`
const agentFile = '---\ndescription: d\npermission: { bash: allow }\n---\nX.\n'

function newPlace() {
  const place = newHome()
  const dir = realpathSync(place.dir)
  spawnSync('git', ['init', '-q'], { cwd: dir })
  const script = join(place.home, 'script.yaml')
  writeFileSync(script, touching)
  const made = () => existsSync(join(dir, 'M'))
  return { ...place, dir, made, model: ['--model', `scripted:${script}`] }
}

async function shows(running: RunningCli, text: string): Promise<void> {
  await vi.waitFor(() => expect(running.stdout()).toContain(text), { timeout: 30_000 })
}

describe('without a terminal, in a folder that nobody has trusted', () => {
  test.each([[[]], [['--permission', 'allow']], [['--permission', 'edits']]])(
    'its configuration is off and its agents may only read, and one line says so: %j',
    async (flags) => {
      const { put, run, made, model } = newPlace()
      put('troupe.yaml', 'permission: { bash: allow }\nmodel: nowhere/x\n')
      put('.troupe/agents/maker.md', agentFile)
      const { code, stdout, stderr } = await run(['run', 'go', '--agent', 'maker', ...model, ...flags])
      expect([code, made()]).toEqual([4, false])
      expect(stdout).toContain('nobody has trusted')
      const told = stderr.split('\n').filter((line) => line.includes('--trust'))
      expect(told).toEqual([
        expect.stringMatching(/troupe\.yaml is not used, and .*may only read \(maker\): .*not trusted/),
      ])
    },
  )

  test('trusted for one run, both count', async () => {
    const { put, run, made, model } = newPlace()
    put('.troupe/agents/maker.md', agentFile)
    expect((await run(['run', 'go', '--agent', 'maker', '--trust', ...model])).code).toBe(0)
    expect(made()).toBe(true)
  })

  test('a session that was begun there gets its tools when the folder is trusted, and loses them again', async () => {
    const { put, run, made, model, dir } = newPlace()
    put('.troupe/agents/maker.md', agentFile)
    expect((await run(['run', 'go', '--agent', 'maker', '--session', 's1', ...model])).code).toBe(4)
    expect((await run(['resume', 's1', 'again', '--trust', ...model])).code).toBe(0)
    expect(made()).toBe(true)
    rmSync(join(dir, 'M'))
    expect((await run(['resume', 's1', 'again', ...model])).code).toBe(4)
    expect(made()).toBe(false)
  })

  test('the deny rules of the user hold, also with --permission allow', async () => {
    const { home, run, made, model } = newPlace()
    mkdirSync(join(home, '.config/troupe'), { recursive: true })
    writeFileSync(join(home, '.config/troupe/config.yaml'), 'permission: { bash: { "touch *": deny } }\n')
    await run(['run', 'go', '--permission', 'allow', ...model])
    expect(made()).toBe(false)
  })
})

describe('trust that was given', () => {
  test('ends when an agent comes to allow more, and the line names the file', async () => {
    const { put, run, made, model } = newPlace()
    put('.troupe/agents/maker.md', agentFile.replace('bash: allow', 'bash: { make: allow }'))
    expect((await run(['trust'])).stdout).toMatch(
      /^Trusted: .*\n {2}\.troupe\/agents\/maker\.md\n {4}allows bash "make"\n$/,
    )
    put('.troupe/agents/maker.md', agentFile)
    const { code, stderr } = await run(['run', 'go', '--agent', 'maker', ...model])
    expect([code, made()]).toEqual([4, false])
    expect(stderr).toContain('since this folder was trusted, .troupe/agents/maker.md changed')
    await run(['trust'])
    expect((await run(['run', 'go', '--agent', 'maker', ...model])).code).toBe(0)
    expect(made()).toBe(true)
  })

  test('does not let a project say what is the user’s alone', async () => {
    const { put, run, made, model } = newPlace()
    put(
      'troupe.yaml',
      [
        'permission: { "*": allow, "ba?h": allow }',
        'sandbox: read-only',
        'sandboxedCommands: allow',
        'webfetch: { allowHosts: ["*"] }',
        'servers: { ollama: { url: "http://far.example:1" } }',
      ].join('\n'),
    )
    await run(['trust'])
    const { code, stderr } = await run(['run', 'go', ...model])
    expect([code, made()]).toEqual([4, false])
    for (const key of [
      'permission.*',
      'permission.ba?h',
      'sandbox',
      'sandboxedCommands',
      'webfetch.allowHosts',
      'servers.ollama.url',
    ])
      expect((await run(['permissions'])).stderr).toMatch(
        new RegExp(`troupe\\.yaml:\\d: warning: "${key.replace(/[*?.]/g, '\\$&')}" is left out`),
      )
    expect(stderr).toContain('is left out')
  })

  test('of a folder says nothing of the one above it, and a link out of it is not followed', async () => {
    const { home, dir, run, made, model } = newPlace()
    writeFileSync(join(home, 'troupe.yaml'), 'permission: { bash: allow }\n')
    await run(['trust', home])
    await run(['trust'])
    expect((await run(['run', 'go', ...model])).stderr).not.toContain('troupe.yaml')
    symlinkSync('../troupe.yaml', join(dir, 'troupe.yaml'))
    await run(['trust'])
    expect((await run(['run', 'go', ...model])).stderr).toMatch(
      /troupe\.yaml: warning: This is a link to a file outside/,
    )
    expect(made()).toBe(false)
  })

  test.each(['/proc/1', '/proc/none'])('that cannot be kept is one line: TROUPE_HOME=%s', async (path) => {
    const { run } = newPlace()
    const { code, stderr } = await run(['trust'], { env: { TROUPE_HOME: path } })
    expect(code).toBe(2)
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining('TROUPE_HOME')])
  })
})

test('nothing that a folder brings is run or obeyed by starting there', async () => {
  const { put, run, made, dir, home } = newPlace()
  const evil = `#!/bin/sh\ntouch ${join(dir, 'M')}\n`
  for (const name of ['git', 'rg', 'bwrap', 'sh', 'node', 'node_modules/.bin/git']) {
    const path = put(name, evil)
    spawnSync('chmod', ['+x', path])
  }
  put('.env', `TROUPE_HOME=${dir}/evil\nNODE_OPTIONS=--require ${dir}/x.js\nOLLAMA_HOST=http://far.example\n`)
  put('x.js', `require('node:fs').writeFileSync(${JSON.stringify(join(dir, 'M'))}, '')\n`)
  put('troupe.yaml', 'mcp: { x: { command: ["touch", "M"] } }\nhooks: { start: "touch M" }\n')
  put('.mcp.json', '{"mcpServers":{"x":{"command":"touch","args":["M"]}}}')
  put('.claude/settings.json', '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch M"}]}]}}')
  put('.troupe/skills/s/SKILL.md', '---\nname: s\ndescription: d\n---\n!`touch M`\n')
  const script = put('s.yaml', 'rules: [{ when: {}, reply: { text: hi } }]')
  for (const args of [
    ['run', 'go', '--model', `scripted:${script}`],
    ['agents'],
    ['skills'],
    ['doctor'],
    ['permissions'],
  ]) {
    await run(args)
  }
  expect(made()).toBe(false)
  expect(existsSync(join(dir, 'evil'))).toBe(false)
  expect(existsSync(join(home, '.local/state/troupe'))).toBe(true)
})

describe.skipIf(!hasTerminals)('at a terminal', () => {
  test('trust is asked for once, with what the folder brings, and again when that changes', async () => {
    const { put, startAtTerminal, made, model } = newPlace()
    put('troupe.yaml', 'permission: { bash: { "touch *": allow } }\n')
    const first = startAtTerminal(['run', 'go', ...model])
    await shows(first, 'Trust it from now on? y/n > ')
    expect(first.stdout()).toContain('permission: {"bash":{"touch *":"allow"}}')
    expect(made()).toBe(false)
    first.child.stdin?.write('y\n')
    expect((await first.finished).code).toBe(0)
    expect(made()).toBe(true)

    const second = startAtTerminal(['run', 'go', ...model])
    expect((await second.finished).code).toBe(0)
    expect(second.stdout()).not.toContain('Trust it')

    put('troupe.yaml', 'permission: { bash: { "*": allow } }\n')
    const third = startAtTerminal(['run', 'go', ...model])
    await shows(third, 'Since you trusted')
    await shows(third, 'Trust it from now on? y/n > ')
    third.child.stdin?.write('n\n')
    await shows(third, 'y/n/t/a > ')
    third.child.stdin?.write('n\n')
    expect((await third.finished).code).toBe(0)
  })

  test('a no is remembered, and the configuration stays off', async () => {
    const { put, startAtTerminal, made, model } = newPlace()
    put('troupe.yaml', 'permission: { bash: { "touch *": allow } }\n')
    for (const n of [1, 2]) {
      const running = startAtTerminal(['run', 'go', ...model])
      if (n === 1) {
        await shows(running, 'Trust it from now on? y/n > ')
        running.child.stdin?.write('n\n')
      }
      await shows(running, 'y/n/t/a > ')
      expect(running.stdout()).toContain('is not used: this folder is not trusted')
      running.child.stdin?.write('n\n')
      await running.finished
    }
    expect(made()).toBe(false)
  })

  test('an always for the project is stored by a key, shown by permissions, and asked no more', async () => {
    const { startAtTerminal, run, made, model, dir, home } = newPlace()
    const first = startAtTerminal(['run', 'go', ...model])
    await shows(first, 'y/n/t/a > ')
    expect(first.stdout()).toContain('always in this project')
    first.child.stdin?.write('p\n')
    expect((await first.finished).code).toBe(0)
    expect(made()).toBe(true)
    const { answers } = JSON.parse((await run(['permissions', '--json'])).stdout)
    expect(answers).toMatchObject([{ n: 1, key: 'bash', pattern: 'touch *', about: 'touch M' }])
    expect((await run(['run', 'go', ...model])).code).toBe(0)
    expect(readFileSync(join(dir, '.git/config'), 'utf8')).not.toContain('touch')
    expect(existsSync(join(home, '.local/state/troupe/answers'))).toBe(true)
  })
})
