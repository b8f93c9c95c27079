import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { findProcesses, hasProc } from '../src/supervisor/process-tree.ts'
import { createToolWorld, type ToolWorld } from '../src/tools/testing/tool-world.ts'
import { createCommandRunner } from './support/command-runner.ts'

// Faults around tools: processes that do not end, disks that are full, files that change (F30 to F39, F60, F61).

const { bash } = createCommandRunner()
let world: ToolWorld
beforeEach(async () => {
  world = await createToolWorld()
})

const pidsIn = (text: string) => [...text.matchAll(/^\d+$/gm)].map(([pid]) => Number(pid))

async function allGone(pids: number[]): Promise<boolean> {
  for (let n = 0; n < 100; n++) {
    if (findProcesses(({ pid }) => pids.includes(pid)).length === 0) return true
    await sleep(50)
  }
  return false
}

describe.skipIf(!hasProc)('processes', () => {
  test.each([
    ['F30 C16 that ignores TERM', "echo $$; trap '' TERM; sleep 296", 1],
    ['C16 with a child in the background', 'echo $$; sleep 297 & echo $!; sleep 298', 2],
    ['C16 that has left the group', 'setsid sleep 299 & echo $!; wait', 1],
  ])('of a command %s are gone after its time', async (_, command, count) => {
    const result = await bash({ command, timeout_ms: 700 })
    expect(result).toMatchObject({ isError: true, output: expect.stringContaining('timed out after 700 ms') })
    const pids = pidsIn(result.output)
    expect(pids).toHaveLength(count)
    expect(await allGone(pids)).toBe(true)
  })

  test.each([
    ['F31 C14 holds the output', 'sleep 60 & echo $!; echo done'],
    ['F32 C14 has a session of its own', 'setsid sleep 60 & echo $!; sleep 0.1; echo done'],
    ['F35 makes zombies', 'for i in 1 2 3; do (sleep 60 & echo $!; exec sleep 0.01) & done; wait; echo done'],
  ])('what %s does not outlive its command', async (_, command) => {
    const result = await bash(command)
    expect(result).toMatchObject({ isError: false, output: expect.stringMatching(/done\n[\s\S]*left running/) })
    expect(await allGone(pidsIn(result.output))).toBe(true)
  })
})

describe('output', () => {
  test.each([
    ['binary', 'head -c 300000 /dev/urandom'],
    ['of one line without end', 'head -c 3000000 /dev/zero | tr "\\0" x'],
    ['with characters cut in two', 'yes "日本語😀" | head -c 300001'],
    ['in colours', 'for i in 1 2 3; do printf "\\033[31mred\\033[0m\\n"; done'],
  ])('F33 %s comes as valid text within the limit', async (_, command) => {
    const { output } = await bash(command)
    expect(output.length).toBeLessThanOrEqual(30_000)
    expect(Buffer.from(output).toString()).toBe(output)
  })

  test('F60 of 50 MB is in a file, which read pages through', async () => {
    const result = await bash('seq 1 6500000', world)
    expect(result.output).toMatch(/\n6500000\n$/)
    const page = await world.result('read', { file_path: result.spilled!, offset: 6_000_000, limit: 2 })
    expect(page.output).toContain('6000000\t6000000\n')
  })

  test.each([
    ['F37 by SIGSEGV', 'kill -SEGV $$', '[killed by signal SIGSEGV]'],
    ['F37 by SIGKILL', 'kill -KILL $$', '[killed by signal SIGKILL]'],
    [
      'F37 of a process within, by SIGKILL',
      'sh -c "kill -KILL \\$\\$"; exit $?',
      'perhaps for lack of memory]\n[exit code: 137]',
    ],
  ])('tells of an end %s', async (_, command, says) => {
    expect((await bash(command)).output).toContain(says)
  })
})

describe('F38 a write', () => {
  const asks = () => ({ action: 'ask' as const, reason: '' })

  test.skipIf(!canMount())('on a full disk leaves the file as it was, and nothing behind', async () => {
    const disk = mkdtempSync(join(tmpdir(), 'troupe-full-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk])
    onTestFinished(() => {
      execFileSync('umount', [disk])
      rmSync(disk, { recursive: true })
    })
    const file_path = join(disk, 'f')
    await world.result('write', { file_path, content: 'small\n' })
    const big = await world.result('write', { file_path, content: 'x'.repeat(200_000) })
    expect(big).toMatchObject({ isError: true, output: expect.stringContaining('no space left') })
    expect(readFileSync(file_path, 'utf8')).toBe('small\n')
    expect(readdirSync(disk)).toEqual(['f'])
    expect(await world.result('write', { file_path, content: 'still works\n' })).toMatchObject({ isError: false })
  })

  test('that was approved does not follow a folder that became a link', async () => {
    const outside = join(dirname(world.dir), 'outside')
    mkdirSync(outside)
    await world.write('sub/f', 'old\n')
    const args = { file_path: 'sub/f', content: 'new\n' }
    const outcome = await world.call('write', args, { decide: asks })
    if (outcome.type !== 'ask') throw new Error('no ask')
    rmSync(join(world.dir, 'sub'), { recursive: true })
    symlinkSync(outside, join(world.dir, 'sub'))
    const answered = { id: 'a' as never, ...outcome.ask, answer: { decision: 'once' as const } }
    const result = await world.result('write', args, { decide: asks, answered })
    expect(result).toMatchObject({ isError: true, metadata: { code: 'changed-since-approval' } })
    expect(readdirSync(outside)).toEqual([])
  })

  test('that a crash interrupted leaves a temporary file that no search shows', async () => {
    await world.write('.troupe-0123456789abcdef.tmp', 'half a needle')
    await world.write('f.txt', 'needle\n')
    expect((await world.result('glob', { pattern: '**' })).output).toBe('f.txt')
    expect((await world.result('grep', { pattern: 'needle' })).output).toBe('f.txt:1: needle')
  })
})

describe('F61 names', () => {
  test.each(['sp ace', 'ünï😀', 'quo\'te"s', '-dash', 'a\\b', '$HOME', 'new\nline'])(
    'like %j are names',
    async (name) => {
      const file_path = `${name}/${name}.txt`
      await world.result('write', { file_path, content: 'one needle\n' })
      expect(await world.result('edit', { file_path, old_string: 'one', new_string: 'two' })).toMatchObject({
        isError: false,
      })
      expect((await world.result('read', { file_path })).output).toBe('     1\ttwo needle')
      const shown = name.includes('\n') ? JSON.stringify(file_path) : file_path
      expect((await world.result('glob', { pattern: '*.txt' })).output).toBe(shown)
      expect((await world.result('grep', { pattern: 'needle' })).output).toBe(`${shown}:1: two needle`)
      expect((await bash({ command: 'cat ./*.txt', cwd: name }, world)).output).toBe('two needle\n')
    },
  )
})

function canMount(): boolean {
  const at = mkdtempSync(join(tmpdir(), 'troupe-mount-'))
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', at]).status === 0
  if (isMounted) spawnSync('umount', [at])
  rmSync(at, { recursive: true })
  return isMounted
}
