import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { root, rootRef, said } from './fixtures/sample-records.ts'
import { bundleStore, programPath, runShell, startProgram } from './fixtures/store-process.ts'
import { newFolder, openStore } from './fixtures/test-store.ts'
import { lockPath } from './layout.ts'

let bundle: string
beforeAll(() => {
  bundle = bundleStore()
})

/** Starts that many takers in the same millisecond, and says what each one reported. */
async function race(dataDir: string, takers: number): Promise<string[]> {
  const start = String(Date.now() + 500)
  const programs = Array.from({ length: takers }, () => startProgram('take-lock', [bundle, dataDir, start]))
  return Promise.all(programs.map((program) => program.line()))
}

function writeLock(dataDir: string, content: string): void {
  const path = lockPath(dataDir, root)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

function ownLock(dataDir: string): Record<string, unknown> {
  const store = openStore(dataDir)
  const lock = store.lockRoot(root)
  const content = JSON.parse(readFileSync(lockPath(dataDir, root), 'utf8'))
  lock.release()
  return content
}

async function deadPid(): Promise<number> {
  const program = startProgram('take-lock', [bundle, newFolder()])
  await program.line()
  program.kill('SIGKILL')
  await once(program, 'exit')
  return program.pid!
}

describe('the lock of a root session', () => {
  test('of processes that want it at once exactly one gets it, and the others name it', async () => {
    const dataDir = newFolder()
    const reports = await race(dataDir, 4)
    expect(reports.filter((report) => report === 'taken')).toHaveLength(1)
    const { pid } = JSON.parse(readFileSync(lockPath(dataDir, root), 'utf8'))
    const lost = reports.filter((report) => report !== 'taken')
    for (const report of lost) expect(report).toMatch(new RegExp(`^session-locked .* process ${pid}\\.`))
    expect(openStore(dataDir).list()).toEqual([])
  })

  test('of a dead owner goes to exactly one of those who want it at once', async () => {
    for (let round = 0; round < 3; round += 1) {
      const dataDir = newFolder()
      const owner = startProgram('take-lock', [bundle, dataDir])
      expect(await owner.line()).toBe('taken')
      owner.kill('SIGKILL')
      await once(owner, 'exit')
      const reports = await race(dataDir, 4)
      expect(reports.filter((report) => report === 'taken')).toHaveLength(1)
      expect(reports.filter((report) => report.startsWith('session-locked'))).toHaveLength(3)
      expect(readdirSync(dirname(lockPath(dataDir, root)))).toEqual(['lock'])
    }
  })

  test('is refused to the holder itself and to another store of the same process', () => {
    const dataDir = newFolder()
    const store = openStore(dataDir)
    const lock = store.lockRoot(root)
    const locked = expect.objectContaining({
      code: 'session-locked',
      message: expect.stringContaining(`${process.pid}`),
    })
    expect(() => store.lockRoot(root)).toThrow(locked)
    expect(() => openStore(dataDir).lockRoot(root)).toThrow(locked)
    lock.release()
    lock.release()
    const next = openStore(dataDir)
    next.lockRoot(root)
    lock.release()
    expect(existsSync(lockPath(dataDir, root))).toBe(true)
  })

  test('holds while its owner only waits to be reaped no longer than that', async () => {
    const dataDir = newFolder()
    // The shell never reaps its child: a killed owner stays a zombie, which still has its pid.
    const script = `"$1" "$2" "$3" "$4" & echo $!; exec sleep 60`
    const shell = spawn('sh', ['-c', script, 'sh', process.execPath, programPath('take-lock'), bundle, dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      let text = ''
      for await (const chunk of shell.stdout) {
        text += chunk
        if (text.includes('taken')) break
      }
      const pid = Number(text.split('\n')[0])
      expect(() => openStore(dataDir).lockRoot(root)).toThrow(new RegExp(`process ${pid}`))
      process.kill(pid, 'SIGKILL')
      await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z ')
      openStore(dataDir).lockRoot(root)
    } finally {
      shell.kill('SIGKILL')
    }
  })

  test('of an earlier process with the same pid, or of an earlier boot, counts for nothing', () => {
    const dataDir = newFolder()
    const own = ownLock(dataDir)
    expect(own).toMatchObject({ pid: process.pid, host: hostname(), at: expect.any(Number) })
    for (const change of [{ startTime: '1' }, { bootId: 'another boot' }]) {
      writeLock(dataDir, JSON.stringify({ ...own, ...change }))
      openStore(dataDir).lockRoot(root).release()
    }
    writeLock(dataDir, JSON.stringify(own))
    expect(() => openStore(dataDir).lockRoot(root)).toThrow(/in use by process/)
  })

  test('of another host holds, as nobody can look there, and the message says what to delete', () => {
    const dataDir = newFolder()
    writeLock(dataDir, JSON.stringify({ ...ownLock(dataDir), host: 'elsewhere', bootId: 'another boot' }))
    expect(() => openStore(dataDir).lockRoot(root)).toThrow(
      `on elsewhere (if it has ended, delete ${lockPath(dataDir, root)})`,
    )
  })

  test.each(['', '\0\0\0\0', '{"pid":', '[]', '{"pid":-4,"host":"x"}'])(
    'with %j in it counts for nothing',
    (garbage) => {
      const dataDir = newFolder()
      writeLock(dataDir, garbage)
      const lock = openStore(dataDir).lockRoot(root)
      expect(JSON.parse(readFileSync(lockPath(dataDir, root), 'utf8'))).toMatchObject({ pid: process.pid })
      lock.release()
      expect(readdirSync(dirname(lockPath(dataDir, root)))).toEqual([])
    },
  )

  test('of a dead owner is left alone while a running process is about to take it over', async () => {
    const dataDir = newFolder()
    const own = ownLock(dataDir)
    const dead = JSON.stringify({ ...own, pid: await deadPid(), startTime: '5' })
    writeLock(dataDir, dead)
    writeFileSync(`${lockPath(dataDir, root)}.over-${crc32(dead).toString(16)}`, JSON.stringify(own))
    expect(() => openStore(dataDir).lockRoot(root)).toThrow(`process ${process.pid}`)
    expect(readFileSync(lockPath(dataDir, root), 'utf8')).toBe(dead)
  })

  test('is taken over although an earlier taker died half way', async () => {
    const dataDir = newFolder()
    const dead = { ...ownLock(dataDir), pid: await deadPid(), startTime: '5' }
    const [first, second] = [JSON.stringify({ ...dead, nonce: 'a' }), JSON.stringify({ ...dead, nonce: 'b' })]
    writeLock(dataDir, first)
    writeFileSync(`${lockPath(dataDir, root)}.over-${crc32(first).toString(16)}`, second)
    const reports = await race(dataDir, 4)
    expect(reports.filter((report) => report === 'taken')).toHaveLength(1)
    expect(readdirSync(dirname(lockPath(dataDir, root)))).toEqual(['lock'])
  })
})

test('a process that is killed while it appends loses no record that was acknowledged', async () => {
  const dataDir = newFolder()
  let before = 0
  for (let round = 0; round < 5; round += 1) {
    const writer = startProgram('append-loop', [bundle, dataDir])
    while (writer.output().length < 600 * (round + 1)) await once(writer.stdout!, 'data')
    writer.kill('SIGKILL')
    await once(writer, 'close')
    const acknowledged = Number(writer.output().split('\n').at(-2))
    expect(acknowledged).toBeGreaterThan(before)

    const store = openStore(dataDir)
    const lock = store.lockRoot(root)
    const seqs = store.read(rootRef).map(({ seq }) => seq)
    expect(seqs).toEqual(seqs.map((_, index) => index + 1))
    expect(seqs.length).toBeGreaterThanOrEqual(acknowledged)
    expect(store.append(rootRef, [said('goes on')])[0]!.seq).toBe(seqs.length + 1)
    expect(store.damage).toEqual([])
    before = seqs.length + 1
    lock.release()
  }
})

test('a thousand journals do with fewer open files than the system allows', () => {
  const script = 'ulimit -n 100 && exec "$1" "$2" "$3" "$4"'
  const result = runShell(script, [process.execPath, programPath('many-journals'), bundle, newFolder()])
  expect(result).toEqual({ status: 0, stdout: 'whole: 1000\n', stderr: '' })
})

const canMount = runShell('unshare -m mount -t tmpfs -o size=64k tmpfs "$1"', ['/tmp']).status === 0

test.skipIf(!canMount)('a full disk stops the session with its records intact; with room again it goes on', () => {
  const script = 'mount -t tmpfs -o size=256k tmpfs "$4" && exec "$1" "$2" "$3" "$4"'
  const result = runShell(`exec unshare -m sh -c '${script}' sh "$@"`, [
    process.execPath,
    programPath('fill-disk'),
    bundle,
    newFolder(),
  ])
  expect(result.stderr).toBe('')
  expect(JSON.parse(result.stdout)).toEqual({ code: 'storage-full', kept: true, goesOn: true, read: true })
})

test('a store in use keeps no process alive', () => {
  const script = `
    const { createStore } = await import(${JSON.stringify(bundle)})
    const after = (ms, run) => { const timer = setTimeout(run, ms).unref(); return () => clearTimeout(timer) }
    const clock = { now: Date.now, monotonic: Date.now, after }
    const store = createStore({ dataDir: ${JSON.stringify(join(newFolder(), 'd'))}, clock, onDamage() {} })
    store.lockRoot('r1')
    store.append({ root: 'r1', session: 'r1' }, [{ type: 'turn.partial', turn: 1, text: 'x' }])`
  const result = runShell('exec "$1" --input-type=module -e "$2"', [process.execPath, script])
  expect(result).toEqual({ status: 0, stdout: '', stderr: '' })
})
