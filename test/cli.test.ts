import { describe, expect, test, vi } from 'vitest'
import { newHome } from './cli-process.ts'

const hello = 'rules: [{ when: {}, reply: { text: "Hello, {{prompt}}." } }]'

/** Two explorers in the background, then a summary. */
const fanOut = `
rules:
  - when: { agent: lead, turn: 1 }
    reply:
      text: I send two.
      calls:
        - { tool: task, args: { agent: explorer, prompt: "read a.txt", description: "look at a", background: true } }
        - { tool: task, args: { agent: explorer, prompt: "read b.txt", description: "look at b", background: true } }
  - when: { agent: explorer, turn: 1, prompt: "read (\\\\S+)" }
    reply: { calls: [{ tool: read, args: { file_path: "{{match.1}}" } }] }
  - when: { agent: explorer }
    reply: { text: "seen: {{last}}" }
  - when: { agent: lead, results: 2 }
    reply: { text: "Both are back.\\n{{results}}" }
  - when: {}
    reply: { text: waiting }
`

/** One command that needs permission, then what came of it. */
const asksForShell = `
rules:
  - when: { turn: 1 }
    reply: { calls: [{ tool: bash, args: { command: "touch made.txt", description: "make a file" } }] }
  - when: {}
    reply: { text: "{{last}}" }
`

const slow = `
rules:
  - when: {}
    reply: { text: "too late", delayMs: 60000 }
`

function events(stdout: string): { type: string; [key: string]: unknown }[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

describe('troupe run', () => {
  test('prints the answer alone on stdout, and model, slots, context and folder first on stderr', async () => {
    const { run, put, dir } = newHome()
    const script = put('hello.yaml', hello)
    const { code, stdout, stderr } = await run(['run', 'my', 'friend', '--model', `scripted:${script}`])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello, my friend.\n' })
    expect(stderr.split('\n')[0]).toBe(
      `troupe: scripted:${script} · slots: no limit · 16,384 tokens of context · ${dir}`,
    )
  })

  test('takes the prompt from stdin for -, and a script from where the user stands', async () => {
    const { run, put } = newHome()
    put('hello.yaml', hello)
    const { stdout } = await run(['run', '-', '--model', 'scripted:hello.yaml'], { input: 'stdin' })
    expect(stdout).toBe('Hello, stdin.\n')
  })

  test('shows jobs as plain lines on stderr, and delivers what they found', async () => {
    const { run, put } = newHome()
    put('a.txt', 'alpha\n')
    put('b.txt', 'beta\n')
    const { code, stdout, stderr } = await run(['run', 'go', '--model', `scripted:${put('s.yaml', fanOut)}`])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Both are back\.\n/)
    expect(stdout).toContain('alpha')
    expect(stdout).toContain('beta')
    const lines = stderr.split('\n')
    expect(lines).toContain('[exp-1 explorer] started in the background: look at a')
    expect(lines).toContain('[exp-1 explorer] read a.txt')
    expect(lines).toContain('[exp-2 explorer] result delivered')
    expect(stderr).not.toContain('\x1b')
  })

  test('prints exactly the events with --json, run.finished last', async () => {
    const { run, put } = newHome()
    put('a.txt', 'alpha\n')
    put('b.txt', 'beta\n')
    const script = `scripted:${put('s.yaml', fanOut)}`
    const { code, stdout } = await run(['run', 'go', '--json', '--model', script])
    const all = events(stdout)
    expect(code).toBe(0)
    expect(all[0]).toMatchObject({ type: 'session.created', agent: 'lead', depth: 0 })
    expect(all.at(-1)).toMatchObject({
      type: 'run.finished',
      status: 'done',
      denied: 0,
      jobs: [
        { alias: 'exp-1', agent: 'explorer', generation: 1, state: 'completed', delivered: true },
        { alias: 'exp-2', agent: 'explorer', generation: 1, state: 'completed', delivered: true },
      ],
    })
    const seqs = all.map(({ seq }) => Number(seq))
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
    expect(new Set(seqs).size).toBe(seqs.length)
  })

  test('stops quietly when nobody reads its events any more', async () => {
    const { start, put } = newHome()
    const script = put(
      's.yaml',
      'rules: [{ when: {}, reply: { delayMs: 50, calls: [{ tool: glob, args: { pattern: "*" } }] } }]',
    )
    const running = start(['run', 'go', '--json', '--model', `scripted:${script}`])
    await vi.waitFor(() => expect(running.stdout()).toContain('session.created'), { timeout: 20_000 })
    running.child.stdout?.destroy()
    const { code, stderr } = await running.finished
    expect(code).toBe(130)
    expect(stderr).not.toMatch(/EPIPE|Error|at .*:\d+/)
  })

  test('denies what needs a person when there is none, says so, and exits with 4', async () => {
    const { run, put } = newHome()
    const script = `scripted:${put('s.yaml', asksForShell)}`
    const { code, stdout, stderr } = await run(['run', 'go', '--model', script])
    expect(code).toBe(4)
    expect(stdout).toContain('nobody was asked')
    expect(stderr).toContain('1 call denied because nobody was asked.')
  })

  test('does what a flag allows', async () => {
    const { run, put } = newHome()
    const script = `scripted:${put('s.yaml', asksForShell)}`
    expect((await run(['run', 'go', '--model', script, '--allow', 'bash:touch *'])).code).toBe(0)
    expect((await run(['run', 'go', '--model', script, '--permission', 'allow'])).code).toBe(0)
    const denied = await run(['run', 'go', '--model', script, '--permission', 'allow', '--deny', 'bash:touch *'])
    expect(denied.stdout).not.toBe('')
    expect(denied.code).toBe(0)
  })

  test('exits with 3 at a limit, and says how to go on', async () => {
    const { run, put } = newHome()
    const script = put('s.yaml', 'rules: [{ when: {}, reply: { calls: [{ tool: glob, args: { pattern: "*" } }] } }]')
    const { code, stderr } = await run(['run', 'go', '--model', `scripted:${script}`, '--max-turns', '2'])
    expect(code).toBe(3)
    expect(stderr).toMatch(/To go on: troupe resume \S+/)
  })

  test('exits with 1 when the model fails for good', async () => {
    const { run, put } = newHome()
    const script = put('s.yaml', 'rules: [{ when: { prompt: "never said" }, reply: { text: x } }]')
    const { code, stdout, stderr } = await run(['run', 'go', '--model', `scripted:${script}`])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^troupe: .+/m)
    expect(stderr).not.toMatch(/^ +at /m)
  })

  test('accepts an answer that fits its schema and refuses another', async () => {
    const { run, put } = newHome()
    const schema = put('schema.json', '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}')
    const answer = (text: string) =>
      `scripted:${put('s.yaml', JSON.stringify({ rules: [{ when: {}, reply: { text } }] }))}`
    const good = await run(['run', 'go', '--model', answer('```json\n{"n": 3}\n```'), '--output-schema', schema])
    expect(good).toMatchObject({ code: 0, stdout: '{"n": 3}\n' })
    const bad = await run(['run', 'go', '--model', answer('{"n": "three"}'), '--output-schema', schema])
    expect(bad).toMatchObject({ code: 1, stdout: '' })
    expect(bad.stderr).toContain('the answer does not fit the schema: n: ')
  })

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'without a terminal %s ends it with 130, and it can be resumed',
    async (signal) => {
      const { start, run, put } = newHome()
      const script = put('s.yaml', slow)
      const running = start(['run', 'go', '--session', 'mine', '--model', `scripted:${script}`])
      await vi.waitFor(() => expect(running.stderr()).toContain('troupe: scripted:'), { timeout: 20_000 })
      running.child.kill(signal)
      const { code, stdout, stderr } = await running.finished
      expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
      expect(stderr).toContain('troupe resume mine')
      put('s.yaml', hello)
      expect(await run(['resume', 'mine', 'go on'])).toMatchObject({ code: 0, stdout: 'Hello, go.\n' })
    },
  )

  test('prints no control character of the model', async () => {
    const { run, put } = newHome()
    const script = put('s.yaml', 'rules: [{ when: {}, reply: { text: "red \\e[31mtext\\e]0;title\\a" } }]')
    const { stdout } = await run(['run', 'go', '--model', `scripted:${script}`])
    expect(stdout).toBe('red text\n')
  })
})

describe('wrong usage', () => {
  const cases: [name: string, args: string[], message: RegExp][] = [
    ['no command', [], /^troupe: no command given\. Try: troupe run/],
    ['an unknown command', ['rn', 'x'], /^troupe: unknown command 'rn' \(Did you mean run\?\)\. See: troupe --help$/],
    [
      'an unknown option',
      ['run', 'x', '--jsn'],
      /^troupe: unknown option '--jsn' \(Did you mean --json\?\)\. See: troupe run --help$/,
    ],
    ['a bad number', ['run', 'x', '--max-turns', 'many'], /^troupe: .*--max-turns.*'many' is invalid/],
    ['a bad time', ['run', 'x', '--timeout', '-1'], /^troupe: .*--timeout.*'-1' is invalid/],
    ['no prompt', ['run'], /^troupe: no prompt given\. Write: troupe run/],
    ['an empty stdin', ['run', '-'], /^troupe: stdin was empty/],
    [
      'an unknown agent',
      ['run', 'x', '--agent', 'nobody', '--model', 'scripted:hello.yaml'],
      /^troupe: .*nobody.*lead/,
    ],
    ['a missing script', ['run', 'x', '--model', 'scripted:none.yaml'], /^troupe: .*none\.yaml/],
    ['a missing folder', ['run', 'x', '--dir', '/no/such/folder'], /^troupe: .*\/no\/such\/folder/],
    [
      'a rule without sense',
      ['run', 'x', '--allow', 'flying:*', '--model', 'scripted:hello.yaml'],
      /^troupe: .*flying/,
    ],
    ['an unreachable server', ['run', 'x', '--model', 'ollama/some'], /^troupe: .*127\.0\.0\.1:9/],
    [
      'a bad session id',
      ['run', 'x', '--session', '../up', '--model', 'scripted:hello.yaml'],
      /^troupe: .*\.\.\/up.*session id/,
    ],
    ['an unknown session', ['resume', 'nowhere', '--model', 'scripted:hello.yaml'], /^troupe: .*nowhere/],
    ['a missing schema', ['run', 'x', '--output-schema', 'none.json'], /^troupe: .*none\.json/],
  ]

  test.each(cases)('%s: exit code 2 and one line that says what to do', async (_name, args, message) => {
    const { run, put } = newHome()
    put('hello.yaml', hello)
    const { code, stdout, stderr } = await run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    const lines = stderr.trimEnd().split('\n')
    expect(lines.at(-1)).toMatch(message)
    expect(lines.length).toBe(1)
  })

  test('a stack is shown with --debug only', async () => {
    const { run } = newHome()
    const args = ['run', 'x', '--model', 'scripted:none.yaml']
    expect((await run(args)).stderr).not.toMatch(/\n +at /)
    expect((await run([...args, '--debug'])).stderr).toMatch(/\n +at /)
  })
})

describe('looking at what there is', () => {
  test('help and version go to stdout with 0', async () => {
    const { run } = newHome()
    expect(await run(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: '',
    })
    expect(await run(['run', '--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('--output-schema') })
  })

  test('agents, skills and tools are listed, as tables and as JSON', async () => {
    const { run } = newHome()
    expect((await run(['agents'])).stdout).toMatch(/^AGENT +MODE +FROM +DESCRIPTION\n(.*\n)*explorer +/)
    const agents = JSON.parse((await run(['agents', '--json'])).stdout)
    expect(agents.map(({ name }: { name: string }) => name)).toContain('lead')
    expect(JSON.parse((await run(['skills', '--json'])).stdout).length).toBeGreaterThanOrEqual(3)
    expect((await run(['skills'])).stdout).toMatch(/^SKILL +FROM +DESCRIPTION\n/)
  })

  test('tools depend on the agent and its depth', async () => {
    const { run, put } = newHome()
    const model = `scripted:${put('hello.yaml', hello)}`
    const tools = async (...args: string[]) => {
      const { stdout } = await run(['tools', '--json', '--model', model, ...args])
      return JSON.parse(stdout).map(({ name }: { name: string }) => name)
    }
    expect(await tools('--agent', 'lead')).toContain('task')
    expect(await tools('--agent', 'lead', '--depth', '1')).not.toContain('task')
    expect(await tools('--agent', 'explorer', '--depth', '1')).not.toContain('edit')
  })

  test('a session can be listed, shown and looked into, its jobs too', async () => {
    const { run, put } = newHome()
    put('a.txt', 'alpha\n')
    put('b.txt', 'beta\n')
    await run(['run', 'go there', '--session', 'trip', '--model', `scripted:${put('s.yaml', fanOut)}`])
    expect((await run(['sessions'])).stdout).toMatch(/^SESSION .*\ntrip +lead .*go there\n$/)
    expect(JSON.parse((await run(['sessions', '--json'])).stdout)).toMatchObject([{ session: 'trip', agent: 'lead' }])
    const shown = await run(['show', 'trip'])
    expect(shown.stdout).toContain('user\n  go there')
    expect(shown.stdout).toContain('Both are back.')
    expect((await run(['show', 'trip-exp-1'])).stdout).toContain('alpha')
    expect((await run(['jobs', 'trip'])).stdout).toMatch(/^JOB .*\nexp-1 +explorer +completed/)
    expect(JSON.parse((await run(['jobs', 'trip', '--json'])).stdout)).toHaveLength(2)
    expect(await run(['show', 'nowhere'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^troupe: .*nowhere.*\n$/),
    })
  })

  test('nothing there yet is said, not shown as an empty table', async () => {
    const { run } = newHome()
    expect(await run(['sessions'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('No sessions yet'),
    })
    expect(await run(['jobs'])).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('No jobs yet') })
  })
})

describe('doctor', () => {
  test('finds a server that was named but is not there, and exits with 1', async () => {
    const { run } = newHome()
    const { code, stdout } = await run(['doctor'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^ok +Node +v/)
    expect(stdout).toMatch(/^FAIL +Ollama +.*127\.0\.0\.1:9/m)
  })

  test('is content with a script, and lists definitions that do not load', async () => {
    const { run, put } = newHome()
    const model = `scripted:${put('hello.yaml', hello)}`
    expect((await run(['doctor', '--model', model])).code).toBe(0)
    put('.troupe/agents/broken.md', '---\ntools: [read\n---\nBroken.\n')
    const { code, stdout } = await run(['doctor', '--model', model])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^FAIL +Definition +.*broken\.md/m)
  })

  test('sees a real server, its models and whether they can call tools', async () => {
    const { run, start, put } = newHome()
    const server = start(['scripted-server', put('hello.yaml', hello), '--port', '0'])
    await vi.waitFor(() => expect(server.stdout()).toMatch(/http:\S+/), { timeout: 20_000 })
    const url = /http:\/\/[\d.:]+/.exec(server.stdout())?.[0]
    const { code, stdout } = await run(['doctor'], { env: { OLLAMA_HOST: url } })
    expect(stdout).toMatch(/^ok +Ollama +\S+ at http/m)
    expect(stdout).toMatch(/can call tools/)
    expect(code).toBe(0)
    server.child.kill('SIGTERM')
    expect(await server.finished).toMatchObject({ code: 0, stderr: '' })
  })
})
