import { spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { type Finished, newHome, program, watch } from './cli-process.ts'

const hello = 'rules: [{ when: {}, reply: { text: "Hello, {{prompt}}." } }]'

/** Exactly one readable line that says what to do, nothing on stdout, no stack. */
function expectRefused({ code, stdout, stderr }: Finished, message: RegExp, expectedCode = 2): void {
  expect({ code, stdout, stderr }).toMatchObject({ code: expectedCode, stdout: '' })
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(stderr).toMatch(/^troupe: \S/)
  expect(stderr).toMatch(message)
  expect(stderr).not.toMatch(/ at .*:\d+:\d+|undefined|\[object/)
}

/** A home with a script that answers, and the arguments that play it. */
function newPlace() {
  const home = newHome()
  home.put('hello.yaml', hello)
  return { ...home, play: ['--model', 'scripted:hello.yaml'] }
}

describe('a folder to work in', () => {
  test.each([
    ['is missing', ['--dir', 'nowhere'], /no folder \/.*nowhere\. Give an existing one with --dir/],
    ['is a file', ['--dir', 'hello.yaml'], /no folder .*hello\.yaml/],
    ['lies below a file', ['--dir', 'hello.yaml/x'], /no folder .*hello\.yaml\/x/],
    ['has no name, as of an unset variable', ['--dir', ''], /empty.*--dir/],
    ['is the whole machine', ['--dir', '/'], /whole machine.*--dir/],
  ])('that %s', async (_what, args, message) => {
    const { run, play } = newPlace()
    expectRefused(await run(['run', 'hi', ...play, ...args]), message)
  })

  test('that was removed while one stood in it', async () => {
    const { home, env } = newPlace()
    const gone = join(home, 'gone')
    mkdirSync(gone)
    const command = `rmdir "$PWD"; exec "${process.execPath}" "${program}" agents`
    const outcome = await watch(spawn('sh', ['-c', command], { cwd: gone, env })).finished
    expectRefused(outcome, /has been removed\. Change to another/)
  })
})

describe('a script', () => {
  test.each([
    ['is broken YAML', 'rules:\n  - when: { agent: lead\n', /s\.yaml:3: .*}\. See docs\/scripted-models\.md/],
    [
      'has an unknown condition',
      'rules:\n  - when: {}\n  - when: { agnt: x }\n',
      /s\.yaml:3: rules\[1\]\.when: .*"agnt"/,
    ],
    [
      'has a field of a wrong type',
      'rules:\n  - reply:\n      delayMs: soon\n',
      /s\.yaml:3: rules\[0\]\.reply\.delayMs: /,
    ],
    ['has no rules', 'model: { context: 4096 }\n', /s\.yaml:1: rules: is missing/],
    ['is a list', '- when: {}\n', /s\.yaml:1: script: /],
    ['is empty', '', /s\.yaml:1: rules: is missing/],
  ])('that %s is named with line and field', async (_what, text, message) => {
    const { run, put } = newPlace()
    put('s.yaml', text)
    expectRefused(await run(['run', 'hi', '--model', 'scripted:s.yaml']), message)
  })

  test.each([
    ['does not exist', 'scripted:none.yaml'],
    ['is a folder', 'scripted:.'],
    ['has no name', 'scripted:'],
    ['can be read only once', 'scripted:/dev/null'],
  ])('that %s', async (_what, model) => {
    const { run } = newPlace()
    expectRefused(await run(['run', 'hi', '--model', model]), /^troupe: No \w+ at \/.*\. Give the path of a YAML file/)
    expectRefused(await run(['scripted-server', model.slice('scripted:'.length)]), /Give the path of a YAML file/)
  })
})

describe('a model', () => {
  test.each([
    ['without a name', '', /names no model\. Write ollama\/NAME or scripted:FILE, such as ollama\/\w/],
    ['of an unknown provider', 'nobody/x', /names no model/],
    ['at a server that is not there', 'ollama/x', /127\.0\.0\.1:9 .*OLLAMA_HOST/],
  ])('%s', async (_what, model, message) => {
    const { run } = newPlace()
    expectRefused(await run(['run', 'hi', '--model', model]), message)
  })

  test('at an address that is none', async () => {
    const { run } = newPlace()
    const answer = await run(['run', 'hi', '--model', 'ollama/x'], { env: { OLLAMA_HOST: 'no such host' } })
    expectRefused(answer, /"no such host" is no address of a server\. Use host:port/)
  })

  test('that the server does not have, with those that it has', async () => {
    const { start, run, put } = newPlace()
    put('named.yaml', `model: { name: tiny }\n${hello}`)
    const server = start(['scripted-server', 'named.yaml'])
    await vi.waitFor(() => expect(server.stdout()).toMatch(/http:\S+/), { timeout: 20_000 })
    const env = { OLLAMA_HOST: /http:\/\/[\d.:]+/.exec(server.stdout())?.[0] }
    const answer = await run(['run', 'hi', '--model', 'ollama/huge'], { env })
    expectRefused(answer, /has no model huge\. Pull it: ollama pull huge\. Installed: tiny/)
    expect(await run(['run', 'hi', '--model', 'ollama/tiny'], { env })).toMatchObject({
      code: 0,
      stdout: 'Hello, hi.\n',
    })
    server.child.kill('SIGTERM')
    await server.finished
  })
})

describe('an argument', () => {
  test.each([
    ['an empty prompt', ['run', ''], /prompt is empty\. Write: troupe run/],
    ['a blank prompt', ['run', ' \n\t '], /prompt is empty/],
    ['an empty session id', ['run', 'hi', '--session', ''], /"" is no session id/],
    ['an upper-case session id', ['run', 'hi', '--session', 'Mine'], /"Mine" is no session id.*lower-case/],
    ['a session id that leads elsewhere', ['show', '../../etc'], /is no session id/],
    ['a session id that is too long', ['resume', 'a'.repeat(201)], /at most 200/],
    ['a rule without a key', ['run', 'hi', '--allow', ':x'], /--allow.*no key.*bash, read, edit/],
    ['a rule of an unknown key', ['run', 'hi', '--deny', 'fly:high'], /--deny.*"fly".*bash, read, edit/],
    ['a rule without a pattern', ['run', 'hi', '--allow', 'bash:'], /--allow/],
    [
      'a permission that is none',
      ['run', 'hi', '--permission', 'yes'],
      /'yes' is invalid.*ask, edits, allow, deny, strict/,
    ],
    ['half a turn', ['run', 'hi', '--max-turns', '1.5'], /'1\.5' is invalid.*whole number/],
    ['no turns', ['run', 'hi', '--max-turns', '0'], /'0' is invalid/],
    ['no time', ['run', 'hi', '--timeout', '0'], /'0' is invalid/],
    ['a time with a unit', ['run', 'hi', '--timeout', '5m'], /'5m' is invalid. Give seconds/],
    ['an option without its value', ['run', 'hi', '--dir'], /--dir.*missing/],
    [
      'an option of another command',
      ['resume', 'x', '--agent', 'lead'],
      /unknown option '--agent'.*troupe resume --help/,
    ],
    ['too many arguments', ['sessions', 'all'], /too many arguments/],
    ['too few arguments', ['resume'], /missing required argument 'id'/],
    ['a port that is none', ['scripted-server', 'hello.yaml', '--port', '70000'], /'70000' is invalid.*65535/],
    ['a depth that is none', ['tools', '--depth', '-1'], /'-1' is invalid. Give a whole number/],
    ['a folder to trust that is missing', ['trust', 'nowhere'], /no folder .*nowhere/],
    ['jobs of an unknown session', ['jobs', 'nobody'], /no session nobody\. List them: troupe sessions/],
  ])('%s', async (_what, args, message) => {
    const { run, play } = newPlace()
    const model = args[0] === 'run' ? play : []
    expectRefused(await run([...args.slice(0, 1), ...model, ...args.slice(1)]), message)
  })
})

describe('configuration', () => {
  test.each([
    ['broken YAML', 'workers: 2\nlimits: {\n', /troupe\.yaml:\d: /],
    ['an unknown setting', 'workers: 2\nmodle: x\n', /troupe\.yaml:2: "modle" is no setting.*model, workers/],
    ['a wrong type', 'workers: two\n', /troupe\.yaml:1: "workers": .*number/],
    ['a number out of bounds', 'workers: 200\n', /troupe\.yaml:1: "workers": .*64/],
    ['a list instead of settings', '- workers\n', /troupe\.yaml/],
    ['an unknown permission', 'permission:\n  bash: maybe\n', /troupe\.yaml:2: /],
  ])('of a trusted project with %s', async (_what, text, message) => {
    const { run, put, play } = newPlace()
    put('troupe.yaml', text)
    expectRefused(await run(['run', 'hi', '--trust', ...play]), message)
  })

  test('of a project that is not trusted hinders nobody, and one line says that it is not used', async () => {
    const { run, put, play } = newPlace()
    put('troupe.yaml', 'workers: {')
    const { code, stdout, stderr } = await run(['run', 'hi', ...play])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello, hi.\n' })
    expect(stderr).toMatch(/troupe\.yaml is not used: .*troupe trust/)
  })

  test('of the user that is wrong', async () => {
    const { home, run, play } = newPlace()
    mkdirSync(join(home, '.config/troupe'), { recursive: true })
    writeFileSync(join(home, '.config/troupe/config.yaml'), 'host: moon\n')
    expectRefused(await run(['run', 'hi', ...play]), /config\.yaml:1: "host": /)
  })
})

describe('the data folder', () => {
  test.each([
    ['is a file', 'work/hello.yaml', 'EEXIST'],
    ['lies below a file', 'work/hello.yaml/below', 'ENOTDIR'],
    ...(process.platform === 'linux' ? [['lies where nobody can make one', '/proc/troupe/x', 'ENOENT']] : []),
  ] as [string, string, string][])('that %s', async (_what, path, code) => {
    const { home, run, play } = newPlace()
    const env = { TROUPE_HOME: path.startsWith('/') ? path : join(home, path) }
    expectRefused(await run(['run', 'hi', ...play], { env }), new RegExp(`\\(${code}\\)\\. Set TROUPE_HOME`))
  })

  test.skipIf(process.getuid?.() === 0)('that may not be written to', async () => {
    const { home, run, play } = newPlace()
    mkdirSync(join(home, 'locked'), { mode: 0o500 })
    const env = { TROUPE_HOME: join(home, 'locked') }
    expectRefused(await run(['run', 'hi', ...play], { env }), /\(EACCES\)\. Set TROUPE_HOME/)
  })

  test('that nothing names', async () => {
    const { run, play } = newPlace()
    expectRefused(await run(['run', 'hi', ...play], { env: { HOME: undefined } }), /HOME is not set\. Set TROUPE_HOME/)
  })
})

describe('a session', () => {
  test('of a newer version stays as it is, whatever is tried', async () => {
    const { home, run, play } = newPlace()
    await run(['run', 'hi', '--session', 'later', ...play])
    const { path, text } = journalOf(home, 'later')
    const newer = inVersion(text, 99)
    writeFileSync(path, newer)
    const remedy = /journal version 99.*Upgrade troupe.*nothing was changed/
    expectRefused(await run(['resume', 'later']), remedy)
    expectRefused(await run(['resume', 'later', 'go on', ...play]), remedy)
    expectRefused(await run(['run', 'hi', '--session', 'later', ...play]), remedy)
    expectRefused(await run(['show', 'later']), remedy)
    expectRefused(await run(['jobs', 'later']), remedy)
    expect((await run(['sessions'])).stdout).toMatch(/^later +.*damaged/m)
    expect(readFileSync(path, 'utf8')).toBe(newer)
    expect(readdirSync(join(path, '..'))).toEqual(['later.jsonl'])
  })

  test('whose first record is lost is not begun anew under its id; the rest can be read', async () => {
    const { home, run, play } = newPlace()
    await run(['run', 'hi', '--session', 'cut', ...play])
    const { path, text } = journalOf(home, 'cut')
    const damaged = `garbage\n${text.slice(text.indexOf('\n') + 1)}`
    writeFileSync(path, damaged)
    const first = await run(['resume', 'cut', 'go on', ...play])
    expect(first).toMatchObject({ code: 2, stdout: '' })
    expect(first.stderr).toMatch(/is damaged: .*a copy is in/)
    expectRefused(await run(['run', 'hi', '--session', 'cut', ...play]), /first record .* is damaged.*begin another/)
    expect(readFileSync(path, 'utf8')).toBe(damaged)
    expect((await run(['show', 'cut'])).stdout).toContain('Hello, hi.')
  })

  test('of which nothing can be read says so instead of nothing', async () => {
    const { home, run, play } = newPlace()
    await run(['run', 'hi', '--session', 'gone', ...play])
    writeFileSync(journalOf(home, 'gone').path, 'no journal at all\n')
    expectRefused(await run(['show', 'gone']), /Nothing of session gone can be read/)
  })

  test('goes on in its own folder only, and not when that is gone', async () => {
    const { home, dir, run, play } = newPlace()
    const other = join(home, 'other')
    mkdirSync(other)
    await run(['run', 'hi', '--session', 'away', '--dir', other, ...play])
    expectRefused(
      await run(['resume', 'away', 'go on', '--dir', dir]),
      /works in \/.*other, not in .*work\. Continue it there/,
    )
    expect(await run(['resume', 'away', 'go on'])).toMatchObject({ code: 0, stderr: expect.stringContaining(other) })
    rmSync(other, { recursive: true })
    expectRefused(await run(['resume', 'away', 'go on']), /other, is gone\. Put it back.*troupe show away/)
  })

  test('that another program runs is left to it', async () => {
    const { run, start, put, play } = newPlace()
    put('slow.yaml', 'rules: [{ when: {}, reply: { text: late, delayMs: 60000 } }]')
    const first = start(['run', 'hi', '--session', 'mine', '--model', 'scripted:slow.yaml', '--json'])
    await vi.waitFor(() => expect(first.stdout()).toContain('turn.started'), { timeout: 30_000 })
    const holder = new RegExp(`in use by process ${first.child.pid}\\. Wait for it`)
    expectRefused(await run(['run', 'again', '--session', 'mine', ...play]), holder)
    expectRefused(await run(['resume', 'mine', ...play]), holder)
    first.child.kill('SIGTERM')
    expect((await first.finished).code).toBe(130)
    expect(await run(['resume', 'mine', 'go on', ...play])).toMatchObject({ code: 0, stdout: 'Hello, hi.\n' })
  })
})

describe('what a program is connected to', () => {
  test('a closed stdin does not matter where the prompt is an argument, and counts as empty for -', async () => {
    const { dir, env, play } = newPlace()
    const closed = (args: string[]) =>
      watch(spawn(process.execPath, [program, ...args], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] })).finished
    expect(await closed(['run', 'hi', ...play])).toMatchObject({ code: 0, stdout: 'Hello, hi.\n' })
    expectRefused(await closed(['run', '-', ...play]), /stdin was empty/)
  })

  test.skipIf(!existsSync('/dev/full'))(
    'an answer that could not be written is a failure that names the remedy',
    async () => {
      const { dir, env, play } = newPlace()
      const full = openSync('/dev/full', 'w')
      const intoFull = (args: string[]) =>
        watch(spawn(process.execPath, [program, ...args], { cwd: dir, env, stdio: ['ignore', full, 'pipe'] })).finished
      try {
        const { code, stderr } = await intoFull(['run', 'hi', '--session', 'kept', ...play])
        expect(code).toBe(1)
        expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/^troupe: .*ENOSPC.*troupe show/)
        expectRefused(await intoFull(['agents']), /ENOSPC/, 1)
        expect(await intoFull(['run', 'hi', '--json', ...play])).toMatchObject({ code: 1 })
      } finally {
        closeSync(full)
      }
    },
  )
})

function journalOf(home: string, session: string): { path: string; text: string } {
  const path = join(home, '.local/state/troupe/sessions', session, `${session}.jsonl`)
  return { path, text: readFileSync(path, 'utf8') }
}

/** The journal as a later version of the program would begin it, its checksum right. */
function inVersion(journal: string, version: number): string {
  const [first = '', ...others] = journal.split('\n')
  const record = `{${first.slice(first.indexOf('"seq"'))}`.replace('"version":1', `"version":${version}`)
  const sum = crc32(record).toString(16).padStart(8, '0')
  return [`{"sum":"${sum}",${record.slice(1)}`, ...others].join('\n')
}
