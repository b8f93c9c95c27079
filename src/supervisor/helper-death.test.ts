import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { RuntimeError } from '../core/errors.ts'
import type { CallId, SessionId } from '../core/ids.ts'
import type { ProcessRequest } from '../core/messages.ts'
import { findHelperPath } from './helper-connection.ts'
import { findProcesses, hasProc, type LiveProcess } from './process-tree.ts'
import { createProcesses } from './processes.ts'
import { sweepLeftovers } from './sweep-leftovers.ts'
import { markerName, programMark } from './tool-marker.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-death-'))
const program = join(folder, 'program.mjs')
const here = dirname(fileURLToPath(import.meta.url))

// The stubborn one tells by a file that it is there: TERM must find its trap.
const commands = [
  'touch plain; exec sleep 300',
  "trap '' TERM; touch stubborn; while :; do sleep 0.1; done",
  "setsid sh -c 'touch escaped; exec sleep 300' & exec sleep 300",
]

beforeAll(async () => {
  const entryPoints = [join(here, 'fixtures/runs-commands.ts')]
  await build({ entryPoints, outfile: program, bundle: true, platform: 'node', format: 'esm', logLevel: 'warning' })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!hasProc)('when the program is killed by KILL', () => {
  test('its helper ends all commands, stubborn and escaped ones too, and itself', async () => {
    const { child, mark } = await startProgram()
    const helper = helperOf(child)
    expect(marked(mark).length).toBeGreaterThanOrEqual(4)
    await killed(child)
    await until(() => marked(mark).length === 0)
    await until(() => findProcesses(({ pid }) => pid === helper).length === 0)
  })

  test('or by a signal to its whole group, its helper is there to end all', async () => {
    const { child, mark } = await startProgram()
    process.kill(-child.pid!, 'SIGKILL')
    await until(() => marked(mark).length === 0)
  })

  test('together with its helper, the next start finds and ends what is left, and nothing else', async () => {
    const { child, mark } = await startProgram()
    process.kill(helperOf(child), 'SIGKILL')
    await killed(child)
    expect(marked(mark).length).toBeGreaterThanOrEqual(3)

    const processes = createProcesses()
    const living = processes.run(requestFor('echo begun; sleep 1; echo done', 'living'))
    await processes.run(requestFor('true', 'first'))
    expect(await sweepLeftovers()).toBeGreaterThanOrEqual(3)
    expect(marked(mark)).toEqual([])
    expect(await living).toMatchObject({ head: 'begun\ndone\n', exitCode: 0 })
    await processes.close()
  })
})

describe.skipIf(!hasProc)('when the helper is killed by KILL', () => {
  test('its commands fail with a reason, nothing of them is left, and the next one runs', async () => {
    const died: RuntimeError[] = []
    const processes = createProcesses({ onHelperDied: (error) => died.push(error) })
    const ours = programMark()
    const known = new Set(ownHelpers())
    const outcomes = commands.map((command, index) => processes.run(requestFor(command, `c1.${index}`)))
    await filesAppear()
    const helper = ownHelpers().find((pid) => !known.has(pid))!
    process.kill(helper, 'SIGKILL')

    for (const outcome of await Promise.all(outcomes)) {
      expect(outcome).toMatchObject({ ended: 'failed', exitCode: null })
      expect(outcome.error).toMatch(/SIGKILL/)
    }
    expect(marked(ours)).toEqual([])
    expect(died.map(({ code }) => code)).toEqual(['helper-died'])
    expect(await processes.run(requestFor('echo again', 'c2.1'))).toMatchObject({ head: 'again\n', exitCode: 0 })
    await processes.close()
  })
})

test.skipIf(!hasProc)('an idle helper does not keep its program alive, and ends with it', async () => {
  const lines = join(folder, 'ends.mjs')
  writeFileSync(lines, 'process.argv.push("true"); await import("./program.mjs")')
  const child = spawn(process.execPath, [lines, findHelperPath(), folder], { stdio: 'ignore' })
  const mark = programMark(child.pid)
  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
  await until(() => marked(mark).length === 0)
})

test.skipIf(!hasProc)('a program run by a command of another program belongs to both', async () => {
  const { child, mark } = await startProgram('around.1.2.3')
  expect(marked('around.1.2.3').length).toBeGreaterThan(marked(mark).length)
  await killed(child)
  await until(() => marked('around.1.2.3').length === 0)
})

async function startProgram(around?: string): Promise<{ child: ChildProcess; mark: string }> {
  const env = { ...process.env, ...(around !== undefined && { [markerName]: around }) }
  const args = [program, findHelperPath(), folder, ...commands]
  const child = spawn(process.execPath, args, { stdio: 'ignore', detached: true, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const mark = programMark(child.pid)
  await filesAppear()
  return { child, mark }
}

/** Waits until every command is at work. */
async function filesAppear(): Promise<void> {
  const names = ['plain', 'stubborn', 'escaped']
  await until(() => names.every((name) => readdirSync(folder).includes(name)))
  for (const name of names) rmSync(join(folder, name))
}

async function killed(child: ChildProcess): Promise<void> {
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exit
}

function marked(mark: string): LiveProcess[] {
  return findProcesses(({ marks }) => marks.some((one) => one.startsWith(mark)))
}

/** A helper leads a session of its own. */
function helperOf(child: ChildProcess): number {
  return findProcesses(({ parent, session, pid }) => parent === child.pid && session === pid)[0]!.pid
}

function ownHelpers(): number[] {
  return findProcesses(({ parent, session, pid }) => parent === process.pid && session === pid).map(({ pid }) => pid)
}

function requestFor(command: string, call: string): ProcessRequest {
  const fence = { session: 'tester' as SessionId, epoch: 1, call: call as CallId }
  const env = { PATH: process.env.PATH ?? '' }
  return {
    ...fence,
    command,
    cwd: folder,
    timeoutMs: 60_000,
    env,
    keepBytes: 1000,
    spillPath: join(folder, `${call}.txt`),
  }
}

/** The test's own time limit ends a wait that is in vain. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(20)
}
