import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createToolWorld, removeToolWorlds, type ToolWorld } from './testing/tool-world.ts'

let world: ToolWorld
beforeEach(async () => {
  world = await createToolWorld()
})
afterAll(removeToolWorlds)

const write = (file_path: string, content: string) => world.result('write', { file_path, content })

describe('write', () => {
  test('makes folders and writes the bytes given', async () => {
    const text = 'd’accord “ok” — 👩‍💻\n'
    const result = await write('a/b/c.txt', text)
    expect(result.output).toBe('Created a/b/c.txt (1 line, 36 bytes).')
    expect(await world.bytes('a/b/c.txt')).toEqual(Buffer.from(text))
  })

  test('replaces a whole file, keeps its mode and shows the diff', async () => {
    await world.write('run.sh', 'old\nsame\n')
    await world.run('chmod 755 run.sh')
    const result = await write('run.sh', 'new\nsame\n')
    expect(result.metadata).toMatchObject({ added: 1, removed: 1 })
    expect(await world.run('stat -c %a run.sh')).toBe('755\n')
    expect(await world.run('ls -A')).toBe('run.sh\n')
  })

  test('writes what it is given over a byte order mark, never two', async () => {
    await world.write('bom.txt', '\uFEFFold\n')
    await write('bom.txt', 'new\n')
    expect(await world.bytes('bom.txt')).toEqual(Buffer.from('new\n'))
    await write('bom.txt', '\uFEFFnew\n')
    expect(await world.bytes('bom.txt')).toEqual(Buffer.from('\uFEFFnew\n'))
  })

  test('does not overwrite what another session changed since it was read', async () => {
    await world.write('f.txt', 'from A\n')
    await world.result('read', { file_path: 'f.txt' })
    const other = { file_path: 'f.txt', old_string: 'from A', new_string: 'from B' }
    await world.call('edit', other, { files: {} })
    const seenByA = await world.result(
      'write',
      { file_path: 'f.txt', content: 'A again\n' },
      { files: { [`${world.dir}/f.txt`]: 'an-older-hash' } },
    )
    expect(seenByA).toMatchObject({ isError: true, metadata: { code: 'stale' } })
    expect(await world.text('f.txt')).toBe('from B\n')
  })

  test('refuses folders, and paths that lead through a file', async () => {
    await world.write('dir/file', 'x')
    expect((await write('dir', 'y')).output).toContain('is a folder')
    expect((await write('dir/file/below', 'y')).isError).toBe(true)
    expect((await write('dir/file/below/more', 'y')).output).toContain('not a folder')
    expect(await world.text('dir/file')).toBe('x')
  })

  test('of a new file shows all of it for approval', async () => {
    const decide = () => ({ action: 'ask' as const, reason: 'test' })
    const outcome = await world.call('write', { file_path: 'new.txt', content: 'one\ntwo' }, { decide })
    if (outcome.type !== 'ask') throw new Error('no ask')
    expect(outcome.ask.detail).toBe(
      '--- a/new.txt\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n',
    )
    expect(await world.exists('new.txt')).toBe(false)
    await world.write('new.txt', 'someone was faster')
    const answered = { id: 'x' as never, ...outcome.ask, answer: { decision: 'once' as const } }
    const args = { file_path: 'new.txt', content: 'one\ntwo' }
    expect((await world.result('write', args, { decide, answered })).isError).toBe(true)
    expect(await world.text('new.txt')).toBe('someone was faster')
  })
})
