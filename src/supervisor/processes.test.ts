import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type { CallId, SessionId } from '../core/ids.ts'
import type { ProcessOutcome, ProcessRequest } from '../core/messages.ts'
import { findProcesses, hasProc } from './process-tree.ts'
import { createProcesses } from './processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-processes-'))
const processes = createProcesses()
const session = 'tester' as SessionId
let calls = 0

afterEach(() => processes.forget(session))
afterAll(async () => {
  await processes.close()
  rmSync(folder, { recursive: true, force: true })
})

function requestFor(command: string, more: Partial<ProcessRequest> = {}): ProcessRequest {
  const call = `c1.${++calls}` as CallId
  const env = { PATH: process.env.PATH ?? '' }
  const spillPath = join(folder, 'spilled', `${call}.txt`)
  return { session, epoch: 1, call, command, cwd: folder, timeoutMs: 30_000, env, keepBytes: 1000, spillPath, ...more }
}

function run(command: string, more: Partial<ProcessRequest> = {}): Promise<ProcessOutcome> {
  return processes.run(requestFor(command, more))
}

/** The pids that a command printed, one a line. */
function pidsIn({ head }: ProcessOutcome): number[] {
  return [...head.matchAll(/^\d+$/gm)].map(Number)
}

function isAlive(pid: number): boolean {
  return hasProc ? findProcesses((found) => found.pid === pid).length > 0 : true
}

describe('a command that ends by itself', () => {
  test('gives its output and its exit code', async () => {
    expect(await run('echo out; echo err >&2; echo more; exit 3')).toMatchObject({
      head: 'out\nerr\nmore\n',
      tail: '',
      totalBytes: 13,
      droppedBytes: 0,
      exitCode: 3,
      signal: null,
      ended: 'exited',
      leftRunning: 0,
    })
  })

  test('keeps stdout and stderr in the order in which they were written', async () => {
    const { head } = await run('i=0; while [ $i -lt 50 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done')
    expect(head).toBe(Array.from({ length: 50 }, (_, i) => `o${i}\ne${i}\n`).join(''))
  })

  test('gives stderr apart when asked to, both of them bounded', async () => {
    const outcome = await run('echo out; echo err >&2; echo more > /dev/stderr; exit 3', { splitStderr: true })
    expect(outcome).toMatchObject({ head: 'out\n', stderr: { head: 'err\nmore\n', droppedBytes: 0 }, exitCode: 3 })
    const long = await run('seq 1 10000 >&2; echo out', { splitStderr: true })
    expect(long).toMatchObject({ head: 'out\n', totalBytes: 4, stderr: { totalBytes: 48_894 } })
    expect(long.stderr!.tail).toMatch(/\n10000\n$/)
    expect(readFileSync(long.stderr!.spilled!.path, 'utf8').split('\n')).toHaveLength(10_001)
  })

  test.skipIf(!hasProc)('leaves no core dumps, and has an end to its processes', async () => {
    const { head } = await run('cat /proc/self/limits')
    expect(head).toMatch(/^Max core file size +0 /m)
    const [, most] = /^Max processes +(\d+)/m.exec(head) ?? []
    expect(Number(most)).toBeGreaterThan(100)
    expect(Number(most)).toBeLessThan(200_000)
  })

  test('can write to /dev/stderr and /dev/stdout, as it could on a terminal', async () => {
    expect(await run('echo a > /dev/stderr; echo b > /dev/stdout')).toMatchObject({ head: 'a\nb\n', exitCode: 0 })
  })

  test('is told apart when a signal killed it', async () => {
    expect(await run('kill -SEGV $$')).toMatchObject({ exitCode: null, signal: 'SIGSEGV', ended: 'exited' })
    expect(await run('kill -KILL $$')).toMatchObject({ exitCode: null, signal: 'SIGKILL', ended: 'exited' })
    expect(await run('exit 137')).toMatchObject({ exitCode: 137, signal: null, ended: 'exited' })
  })

  test('may hold quotes, line breaks and a dash at its start', async () => {
    const { head } = await run(`echo 'a "b"' "it's \\$x" | cat <<'END' -\nline $HOME\nEND\n`)
    expect(head).toBe('line $HOME\n')
    expect(await run('-n')).toMatchObject({ exitCode: 127 })
  })

  test('runs where it was asked to, whatever PWD says', async () => {
    const { head } = await run('pwd; echo $PWD', { env: { PATH: process.env.PATH ?? '', PWD: '/' } })
    expect(head).toBe(`${folder}\n${folder}\n`)
  })
})

describe('a command that asks for input', () => {
  test('finds its input closed', async () => {
    expect(await run('cat; echo rc=$?')).toMatchObject({ head: 'rc=0\n' })
    expect(await run('read -r a; echo "[$a] rc=$?"')).toMatchObject({ head: '[] rc=1\n' })
  })

  test('finds no terminal', async () => {
    const { head, exitCode } = await run('echo secret > /dev/tty')
    expect(head).not.toContain('secret')
    expect(exitCode).not.toBe(0)
  })
})

describe('what a command leaves running', () => {
  test('is ended when it holds the output', async () => {
    const outcome = await run('sleep 300 & echo $!; echo done')
    expect(outcome).toMatchObject({ exitCode: 0, ended: 'exited', leftRunning: 1 })
    expect(outcome.head).toContain('done\n')
    expect(pidsIn(outcome).filter(isAlive)).toEqual([])
  })

  test('is ended when it does not hold the output', async () => {
    const outcome = await run('sleep 300 </dev/null >/dev/null 2>&1 & echo $!')
    expect(outcome).toMatchObject({ exitCode: 0, leftRunning: 1 })
    expect(pidsIn(outcome).filter(isAlive)).toEqual([])
  })

  test('is ended while it goes on writing', async () => {
    const outcome = await run('(while :; do echo tick; sleep 0.05; done) & sleep 0.2; echo fg')
    expect(outcome).toMatchObject({ exitCode: 0, ended: 'exited' })
    expect(outcome.head).toContain('fg\n')
    expect(outcome.leftRunning).toBeGreaterThan(0)
  })

  test('is ended when it does not heed TERM', async () => {
    const outcome = await run(`sh -c 'trap "" TERM; echo $$; while :; do sleep 0.1; done' & sleep 0.3; echo done`)
    expect(pidsIn(outcome)).toHaveLength(1)
    expect(pidsIn(outcome).filter(isAlive)).toEqual([])
  })

  test.skipIf(!hasProc)('is ended when it left the process group', async () => {
    const outcome = await run("setsid sh -c 'echo $$; exec sleep 300' & sleep 0.3; echo ok")
    expect(outcome.head).toContain('ok\n')
    expect(outcome.leftRunning).toBe(1)
    expect(pidsIn(outcome)).toHaveLength(1)
    expect(pidsIn(outcome).filter(isAlive)).toEqual([])
  })
})

describe('a command that does not end', () => {
  test('is ended at its time limit, its output until then is kept', async () => {
    const outcome = await run('echo CHECKPOINT; echo $$; sleep 297 & echo $!; sleep 298', { timeoutMs: 700 })
    expect(outcome).toMatchObject({ ended: 'timed-out', leftRunning: 0 })
    expect(outcome.head).toContain('CHECKPOINT\n')
    expect(pidsIn(outcome)).toHaveLength(2)
    expect(pidsIn(outcome).filter(isAlive)).toEqual([])
  })

  test('is killed when it does not heed TERM', async () => {
    const outcome = await run("trap '' TERM; echo $$; sleep 296", { timeoutMs: 300 })
    expect(outcome).toMatchObject({ ended: 'timed-out', signal: 'SIGKILL' })
    expect(pidsIn(outcome).filter(isAlive)).toEqual([])
  })

  test.skipIf(!hasProc)('is ended together with what left its process group', async () => {
    const outcome = await run('setsid sleep 299 & echo $!; wait', { timeoutMs: 700 })
    expect(outcome.ended).toBe('timed-out')
    expect(pidsIn(outcome)).toHaveLength(1)
    expect(pidsIn(outcome).filter(isAlive)).toEqual([])
  })

  test('is ended by kill, which resolves when nothing of it is left', async () => {
    const request = requestFor('echo $$; sleep 297 & echo $!; sleep 298')
    const outcome = processes.run(request)
    await processes.run(requestFor('sleep 0.3'))
    await processes.kill(session, request.call)
    expect(await outcome).toMatchObject({ ended: 'cancelled' })
    expect(pidsIn(await outcome)).toHaveLength(2)
    expect(pidsIn(await outcome).filter(isAlive)).toEqual([])
  })

  test('can stop a stopped process', async () => {
    expect(await run('kill -STOP $$; echo never', { timeoutMs: 300 })).toMatchObject({ ended: 'timed-out', head: '' })
  })

  test('leaves us alive when it signals its own group', async () => {
    expect(await run('kill -TERM 0; sleep 5')).toMatchObject({ signal: 'SIGTERM', ended: 'exited' })
    expect(await run('echo alive')).toMatchObject({ head: 'alive\n' })
  })
})

describe('long output', () => {
  test('keeps head and tail, the whole is in a file', async () => {
    const request = requestFor('seq 1 100000')
    const { head, tail, totalBytes, droppedBytes, spilled } = await processes.run(request)
    const whole = Array.from({ length: 100_000 }, (_, i) => `${i + 1}\n`).join('')
    expect(head).toBe(whole.slice(0, 1000))
    expect(tail).toBe(whole.slice(-1000))
    expect({ totalBytes, droppedBytes }).toEqual({ totalBytes: whole.length, droppedBytes: whole.length - 2000 })
    expect(spilled).toEqual({ path: request.spillPath, bytes: whole.length })
    expect(readFileSync(request.spillPath, 'utf8')).toBe(whole)
  })

  test('of exactly the length that is kept is whole and makes no file', async () => {
    const outcome = await run('yes | head -c 2000')
    expect(outcome).toMatchObject({ head: 'y\n'.repeat(1000), tail: '', droppedBytes: 0 })
    expect(outcome.spilled).toBeUndefined()
  })

  test('without end is bounded in memory and on the disk', async () => {
    const { totalBytes, spilled, ended, head } = await run('yes', { timeoutMs: 1000 })
    expect(ended).toBe('timed-out')
    expect(head.length).toBe(1000)
    expect(spilled!.bytes).toBe(Math.min(totalBytes, 100 * 1024 * 1024))
    if (hasProc) for (const pid of helperPids()) expect(peakMemoryMb(pid)).toBeLessThan(150)
  })

  test('is capped in one line of 200 MB as well', async () => {
    const outcome = await run("head -c 200000000 /dev/zero | tr '\\0' x")
    expect(outcome).toMatchObject({ totalBytes: 200_000_000, exitCode: 0, head: 'x'.repeat(1000) })
    if (hasProc) for (const pid of helperPids()) expect(peakMemoryMb(pid)).toBeLessThan(150)
  })

  test('goes on without its file where none can be written', async () => {
    const outcome = await run('seq 1 10000', { spillPath: '/dev/null/impossible.txt' })
    expect(outcome).toMatchObject({ exitCode: 0, totalBytes: 48_894 })
    expect(outcome.spilled).toBeUndefined()
  })
})

describe('a command that cannot start', () => {
  test.each([
    ['a NUL byte', { command: 'echo a\0b' }, /NUL byte/],
    ['a folder that does not exist', { cwd: '/no/such/folder' }, /no folder \/no\/such\/folder/],
    ['a file in place of the folder', { cwd: '/etc/passwd' }, /no folder/],
    ['more text than the system takes', { command: `: ${'x'.repeat(3_000_000)}` }, /too long/],
    ['an environment that cannot be', { env: { A: 'b\0c' } }, /could not be started/],
  ])('because of %s fails with a reason', async (_, more, reason) => {
    const outcome = await run('true', more)
    expect(outcome).toMatchObject({ ended: 'failed', exitCode: null, signal: null, totalBytes: 0 })
    expect(outcome.error).toMatch(reason)
  })

  test('because the helper was not built fails with a reason', async () => {
    const unbuilt = createProcesses({ helperPath: '/no/such/helper.js' })
    expect((await unbuilt.run(requestFor('true'))).error).toMatch(/build/)
    await unbuilt.close()
  })
})

describe('calls', () => {
  test('a second run of a call attaches to the first, and gets its outcome until it is forgotten', async () => {
    const request = requestFor('echo $$')
    const [first, second] = await Promise.all([processes.run(request), processes.run({ ...request, epoch: 2 })])
    expect(second).toEqual(first)
    expect(await processes.run(request)).toEqual(first)
    expect(processes.has(session, request.call)).toBe(true)
    processes.forget(session, request.call)
    expect(processes.has(session, request.call)).toBe(false)
    expect((await processes.run(request)).head).not.toBe(first.head)
  })

  test('killEpoch ends what that epoch and older ones started, and nothing else', async () => {
    const old = processes.run(requestFor('sleep 300', { epoch: 1 }))
    const adopted = requestFor('sleep 1; echo adopted', { epoch: 1 })
    const kept = [processes.run(adopted), processes.run({ ...adopted, epoch: 2 })]
    await processes.killEpoch(session, 1)
    expect(await old).toMatchObject({ ended: 'cancelled' })
    expect(await Promise.all(kept)).toMatchObject([{ head: 'adopted\n' }, { head: 'adopted\n' }])
  })

  test('a call killed before it started does not run', async () => {
    const fresh = createProcesses()
    const request = requestFor(`touch ${folder}/ran`)
    const outcome = fresh.run(request)
    await fresh.kill(session, request.call)
    expect(await outcome).toMatchObject({ ended: 'cancelled', exitCode: null })
    expect((await fresh.run(requestFor(`ls ${folder}/ran`))).exitCode).not.toBe(0)
    await fresh.close()
  })

  test('many run side by side', async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, (_, i) => run(`echo ${i}`)))
    expect(outcomes.map(({ head }) => head)).toEqual(Array.from({ length: 100 }, (_, i) => `${i}\n`))
  })

  test('run as well where no pipes can be made', async () => {
    const { PATH } = process.env
    process.env.PATH = '/no/mkfifo'
    const bare = createProcesses()
    const first = bare.run(requestFor('echo "a" >&2; echo \'b\'; echo c >&2; exit 3', { env: { PATH: PATH ?? '' } }))
    process.env.PATH = PATH
    expect(await first).toMatchObject({ head: 'a\nb\nc\n', exitCode: 3 })
    expect(await bare.run(requestFor('seq 1 100000'))).toMatchObject({ totalBytes: 588_895, exitCode: 0 })
    expect(await bare.run(requestFor('sleep 300 & echo done'))).toMatchObject({ head: 'done\n', leftRunning: 1 })
    await bare.close()
  })

  test('close ends all, and later runs fail', async () => {
    const closing = createProcesses()
    const outcome = closing.run(requestFor('sleep 300'))
    await closing.run(requestFor('true'))
    await closing.close()
    expect(await outcome).toMatchObject({ ended: 'cancelled' })
    expect(await closing.run(requestFor('true'))).toMatchObject({ ended: 'failed' })
  })
})

function helperPids(): number[] {
  return findProcesses(({ parent, session, pid }) => parent === process.pid && session === pid).map(({ pid }) => pid)
}

function peakMemoryMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024
}
