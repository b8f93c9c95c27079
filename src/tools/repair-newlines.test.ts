import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessOutcome } from '../core/messages.ts'
import { createToolWorld, removeToolWorlds, type ToolWorld } from './testing/tool-world.ts'

let world: ToolWorld
beforeEach(async () => {
  world = await createToolWorld()
})
afterAll(removeToolWorlds)

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

describe('line breaks that a small model escaped twice', () => {
  const write = async (content: string, toolset: 'compact' | 'full' = 'compact') => {
    const { output } = await world.result('write', { file_path: 'f', content }, { toolset })
    return { text: await world.text('f'), repaired: output.includes('[note: literal \\n in content') }
  }

  test.each([
    ['Line1\\nLine2\\n\\tLine3', 'Line1\nLine2\n\tLine3'],
    ["don't stop\\nit isn't late", "don't stop\nit isn't late"],
    ["print('a')\\nprint('b')", "print('a')\nprint('b')"],
    ["print('a\\nb')\\nprint('c')", "print('a\\nb')\nprint('c')"],
    ['one\\r\\ntwo', 'one\ntwo'],
  ])('%j are repaired, and the result says so', async (given, expected) => {
    expect(await write(given)).toEqual({ text: expected, repaired: true })
  })

  test.each(["print('hello\\nworld')", 'a real\nbreak and \\n', 'echo "a\\nb"', 'no \\t break', 'C:\\\\new'])(
    '%j is left alone',
    async (given) => {
      expect(await write(given)).toEqual({ text: given, repaired: false })
    },
  )

  test('the note stands above the output, which keeps to the limit with it', async () => {
    const runProcess = async () => ({ ...ended, head: 'y'.repeat(40_000), totalBytes: 40_000 })
    const { output } = await world.result(
      'shell',
      { command: 'echo a\\necho b' },
      { toolset: 'compact', services: { runProcess } },
    )
    expect(output).toMatch(/^\[note: literal \\n in command was .*\]\ny+\.\.\.\[truncated\]\n\[exit code: 0\]$/)
    expect(output).toHaveLength(20_000)
  })

  test('full never repairs them', async () => {
    expect(await write('Line1\\nLine2', 'full')).toEqual({ text: 'Line1\\nLine2', repaired: false })
  })

  test('an edit never leaves a literal backslash-n behind', async () => {
    await world.write('f', 'a\nb\n')
    const args = { file_path: 'f', old_string: 'a\\nb', new_string: 'a\\nc' }
    expect((await world.result('edit', args, { toolset: 'full' })).isError).toBe(true)
    await world.result('edit', args, { toolset: 'compact' })
    expect(await world.text('f')).toBe('a\nc\n')
  })
})
