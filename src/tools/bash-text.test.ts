import { describe, expect, test } from 'vitest'
import type { ProcessOutcome } from '../core/messages.ts'
import { shellText } from './bash-text.ts'

const long = (letter: string) => letter.repeat(40_000)

const ended: ProcessOutcome = {
  head: '',
  tail: '',
  totalBytes: 0,
  droppedBytes: 0,
  ended: 'exited',
  exitCode: 0,
  signal: null,
  leftRunning: 0,
  durationMs: 1,
}

function textOf(outcome: Partial<ProcessOutcome>, toolset: 'full' | 'compact' = 'full'): string {
  return shellText({ ...ended, ...outcome }, { timeoutMs: 700, toolset })
}

describe('what the model sees of a command', () => {
  test('is its output and no more when it ended well', () => {
    expect(textOf({ head: 'done\n' })).toBe('done\n')
    expect(textOf({})).toBe('(no output)')
  })

  test('tells how it ended otherwise, in brackets below the output', () => {
    expect(textOf({ head: 'no end', exitCode: 2 })).toBe('no end\n[exit code: 2]')
    expect(textOf({ exitCode: 1 })).toBe('(no output)\n[exit code: 1]')
    expect(textOf({ head: 'x\n', exitCode: null, signal: 'SIGSEGV' })).toBe('x\n[killed by signal SIGSEGV]')
    expect(textOf({ head: 'x\n', ended: 'timed-out', exitCode: null, signal: 'SIGTERM' })).toBe(
      'x\n[timed out after 700 ms; output so far is above]',
    )
    expect(textOf({ head: 'x\n', leftRunning: 2 })).toBe('x\n[2 background processes left running were ended]')
    expect(textOf({ ended: 'failed', exitCode: null, error: 'There is no folder /a.' })).toBe('There is no folder /a.')
  })

  test('says that a process within was killed, where only the exit code of the shell tells', () => {
    expect(textOf({ exitCode: 139 })).toBe('(no output)\n[a process was killed by signal SIGSEGV]\n[exit code: 139]')
    expect(textOf({ exitCode: 137 })).toMatch(/SIGKILL, perhaps for lack of memory\]\n\[exit code: 137\]$/)
    expect(textOf({ exitCode: 130 })).toBe('(no output)\n[exit code: 130]')
  })

  test('of long output is head and tail around what is missing and where it is', () => {
    const spilled = { path: '/data/c1.1.txt', bytes: 200_000 }
    const text = textOf({
      head: long('h'),
      tail: long('t'),
      totalBytes: 200_000,
      droppedBytes: 120_000,
      spilled,
      exitCode: 1,
    })
    const [, dropped] =
      /^h+\n\.\.\. \[(\d+) bytes truncated; full output: \/data\/c1\.1\.txt \] \.\.\.\nt+\n\[exit code: 1\]$/.exec(
        text,
      )!
    expect(text.length).toBeLessThanOrEqual(30_000)
    expect(text.length).toBeGreaterThan(29_900)
    expect(Number(dropped) + text.match(/[ht]{100,}/g)!.join('').length).toBe(200_000)
  })

  test('says when the file does not hold all of it, or there is none', () => {
    const parts = { head: long('h'), tail: long('t'), totalBytes: 200_000, droppedBytes: 120_000 }
    expect(textOf({ ...parts, spilled: { path: '/f', bytes: 9 } })).toContain('; first 9 bytes: /f ]')
    expect(textOf(parts)).toContain('; the rest could not be stored ]')
  })

  test('of long output in the compact toolset is its head, and still how it ended', () => {
    const parts = { head: long('h'), tail: long('t'), totalBytes: 200_000, droppedBytes: 120_000 }
    expect(textOf(parts, 'compact')).toMatch(/^h+\.\.\.\[truncated\]\n\[exit code: 0\]$/)
    const text = textOf({ ...parts, exitCode: 1 }, 'compact')
    expect(text).toMatch(/^h+\.\.\.\[truncated\]\n\[exit code: 1\]$/)
    expect(text.length).toBe(20_000)
  })

  test('of a small context is no longer than that takes, and still how it ended', () => {
    const outcome = { ...ended, head: long('h'), totalBytes: 40_000, exitCode: 2 }
    const text = shellText(outcome, { timeoutMs: 700, toolset: 'compact', maxChars: 5000 })
    expect(text).toMatch(/^h+\.\.\.\[truncated\]\n\[exit code: 2\]$/)
    expect(text).toHaveLength(5000)
  })

  test('has in the compact toolset a section of errors, and always the exit code as its last line', () => {
    const stderr = { head: 'bad\n', tail: '', totalBytes: 4, droppedBytes: 0 }
    expect(textOf({ head: 'out\n', stderr, exitCode: 2 }, 'compact')).toBe('out\n[stderr]\nbad\n[exit code: 2]')
    expect(textOf({ head: 'out', exitCode: 0 }, 'compact')).toBe('out\n[exit code: 0]')
    expect(textOf({ stderr }, 'compact')).toBe('[stderr]\nbad\n[exit code: 0]')
    expect(textOf({}, 'compact')).toBe('(no output)\n[exit code: 0]')
    expect(textOf({ ended: 'timed-out', exitCode: null, stderr }, 'compact')).toMatch(/^\[stderr\]\nbad\n\[timed out/)
  })

  test('of long errors keeps their end, whatever else there is', () => {
    const stderr = { head: long('e'), tail: `${long('f')}last`, totalBytes: 200_000, droppedBytes: 120_000 }
    const text = textOf({ head: long('h'), stderr, exitCode: 1 }, 'compact')
    expect(text).toMatch(/^h+\.\.\.\[truncated\]\n\[stderr\]\n\.\.\.\[truncated\]\nf+last\n\[exit code: 1\]$/)
    expect(text.length).toBeLessThanOrEqual(20_000)
    expect(text.length).toBeGreaterThan(19_900)
  })
})
