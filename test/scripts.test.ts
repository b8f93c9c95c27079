import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const project = fileURLToPath(new URL('..', import.meta.url))

/** A clone in miniature: the real scripts, an npm that does what a test says, and a program that shows how it was called. */
function miniature({ npm = ':', built = true }: { npm?: string; built?: boolean } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'troupe-scripts-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const put = (path: string, text: string) => {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  cpSync(join(project, 'scripts'), join(root, 'scripts'), { recursive: true })
  put('package.json', JSON.stringify({ name: 'mini', type: 'module', engines: { node: '>=20.19' } }))
  put('package-lock.json', JSON.stringify({ packages: { '': {}, 'node_modules/a': { version: '1.0.0' } } }))
  put('src/a.ts', '')
  put('scripts/build.mjs', `export async function bundle() { console.error('bundled') }`)
  put('bin/npm', `#!/bin/sh\necho "npm $*" >> "${root}/npm-calls"\n${npm}\n`)
  chmodSync(join(root, 'bin/npm'), 0o755)
  put(
    'dist/cli.js',
    'console.log(JSON.stringify({ args: process.argv.slice(2), prompt: process.env.TROUPE_DEFAULT_PROMPT })); process.exit(Number(process.env.EXIT ?? 0))',
  )
  if (built) {
    put('dist/.built', '')
    const later = new Date(Date.now() + 60_000)
    utimesSync(join(root, 'dist/.built'), later, later)
  }
  const run = (script: string, args: string[] = [], env: NodeJS.ProcessEnv = {}) => {
    const path = `${join(root, 'bin')}${delimiter}${process.env.PATH}`
    const clean = { ...process.env, npm_execpath: undefined, npm_lifecycle_event: undefined, PATH: path, ...env }
    return spawnSync(process.execPath, [join(root, 'scripts', script), ...args], { encoding: 'utf8', env: clean })
  }
  const npmCalls = () =>
    existsSync(join(root, 'npm-calls')) ? readFileSync(join(root, 'npm-calls'), 'utf8').trim().split('\n') : []
  return { root, put, run, npmCalls }
}

const installs = 'mkdir -p "$(dirname "$0")/../node_modules"'

test('a fresh clone is installed once, then no more until the lock file changes', () => {
  const { run, put, npmCalls } = miniature({ npm: installs })
  const first = run('start.mjs', ['hello'])
  expect(first.stderr).toContain('troupe: installing dependencies')
  expect(first.status).toBe(0)
  expect(run('start.mjs', ['hello']).stderr).toBe('')
  expect(npmCalls()).toHaveLength(1)
  expect(npmCalls()[0]).toMatch(/^npm ci .*--include=dev/)
  put('package-lock.json', JSON.stringify({ packages: { '': {}, 'node_modules/a': { version: '1.0.1' } } }))
  run('start.mjs', ['hello'])
  expect(npmCalls()).toHaveLength(2)
})

test('what somebody installed by hand is taken when it is what the lock file names', () => {
  const { run, put, npmCalls } = miniature({ npm: installs })
  put('node_modules/.package-lock.json', JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' } } }))
  expect(run('start.mjs', ['hello']).status).toBe(0)
  expect(npmCalls()).toEqual([])
})

test('a failed install is one line with the remedy, and nothing runs', () => {
  const { run } = miniature({ npm: 'echo "npm error network" >&2; exit 1' })
  const { status, stderr, stdout } = run('start.mjs', ['hello'])
  expect(status).toBe(1)
  expect(stdout).toBe('')
  expect(stderr.trim().split('\n').at(-1)).toMatch(/^troupe: npm ci failed .*network/)
})

test('it builds when dist is missing or older than a source', () => {
  const { run, put, root } = miniature({ npm: installs, built: false })
  expect(run('start.mjs', ['hello']).stderr).toContain('bundled')
  put('dist/.built', '')
  const earlier = new Date(Date.now() - 60_000)
  utimesSync(join(root, 'dist/.built'), earlier, earlier)
  expect(run('start.mjs', ['hello']).stderr).toContain('bundled')
})

test('a build that fails ends it with one line', () => {
  const { run, put } = miniature({ npm: installs, built: false })
  put('scripts/build.mjs', `export async function bundle() { throw new Error('src/a.ts:1: no such thing') }`)
  const { status, stderr } = run('start.mjs', ['hello'])
  expect(status).toBe(1)
  expect(stderr).toContain('troupe: the build failed: src/a.ts:1: no such thing')
})

test('start hands on its arguments, a default prompt, and the exit code', () => {
  const { run } = miniature({ npm: installs })
  const { stdout, status } = run('start.mjs', ['do this', '--dir', 'x'], { EXIT: '4' })
  expect(JSON.parse(stdout)).toEqual({
    args: ['run', 'do this', '--dir', 'x'],
    prompt: expect.stringContaining('Look around'),
  })
  expect(status).toBe(4)
})

test('a Node that is too old is told which one is needed', () => {
  const { run, put } = miniature()
  put('package.json', JSON.stringify({ name: 'mini', type: 'module', engines: { node: '>=99.1' } }))
  const { status, stderr } = run('start.mjs')
  expect(status).toBe(1)
  expect(stderr).toMatch(/^troupe: Node 99\.1 or newer is needed, this is /)
})

test('the tests are counted on the last line, a broken file as one failure', () => {
  const { run, put } = miniature({ npm: installs })
  put('node_modules/vitest/vitest.mjs', fakeVitest)
  const { stdout, status } = run('test.mjs', ['--chaos', '-t', 'name'])
  expect(stdout.trim().split('\n')).toEqual(['run test/chaos -t name, chaos long', '1 skipped', '5 passed, 2 failed'])
  expect(status).toBe(1)
})

test('a test runner that dies without results is a failure', () => {
  const { run, put } = miniature({ npm: installs })
  put('node_modules/vitest/vitest.mjs', 'process.exit(7)')
  const { stdout, status } = run('test.mjs')
  expect(stdout.trim().split('\n').at(-1)).toBe('0 passed, 1 failed')
  expect(status).toBe(7)
})

const fakeVitest = `
import { writeFileSync } from 'node:fs'
const args = process.argv.slice(2)
const file = args.find((arg) => arg.startsWith('--outputFile.json=')).split('=')[1]
console.log(args.filter((arg) => !arg.includes('=')).join(' ') + ', chaos ' + process.env.TROUPE_CHAOS)
const testResults = [
  { status: 'failed', assertionResults: [{ status: 'failed' }] },
  { status: 'failed', assertionResults: [] },
]
writeFileSync(file, JSON.stringify({ numPassedTests: 5, numFailedTests: 1, numPendingTests: 1, testResults }))
process.exit(1)
`
