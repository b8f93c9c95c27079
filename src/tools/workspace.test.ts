import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createToolWorld, removeToolWorlds, type ToolWorld } from './testing/tool-world.ts'
import { createWorkspace } from './workspace.ts'

let world: ToolWorld
beforeEach(async () => {
  world = await createToolWorld()
})
afterAll(removeToolWorlds)

const resolve = (path: string) => world.workspace.resolve(path)

describe('a path of the workspace', () => {
  test('is real, and relative to the workspace', async () => {
    await world.write('src/a.ts', '')
    expect(resolve('src/../src/./a.ts')).toEqual({
      path: join(world.dir, 'src/a.ts'),
      relative: 'src/a.ts',
      outside: false,
    })
    expect(resolve(world.dir)).toMatchObject({ relative: '.', outside: false })
    expect(resolve('not/yet/there.ts')).toMatchObject({ relative: 'not/yet/there.ts', outside: false })
    expect(resolve('..hidden/x')).toMatchObject({ outside: false })
  })

  test('lies outside when only its name begins like the workspace', () => {
    expect(resolve(`${world.dir}-evil/f`)).toEqual({
      path: `${world.dir}-evil/f`,
      relative: `${world.dir}-evil/f`,
      outside: true,
    })
    expect(resolve('../f').outside).toBe(true)
    expect(resolve('~/f')).toMatchObject({ path: join(homedir(), 'f'), outside: true })
  })

  test('is judged where its links lead, dangling ones too', async () => {
    await world.run('mkdir ../other; ln -s ../other out; ln -s ../other/none dangling; ln -s sub/in dots; mkdir sub')
    expect(resolve('out/x')).toMatchObject({ path: join(world.dir, '../other/x'), outside: true })
    expect(resolve('dangling')).toMatchObject({ path: join(world.dir, '../other/none'), outside: true })
    expect(resolve('dangling/deep/x')).toMatchObject({ path: join(world.dir, '../other/none/deep/x'), outside: true })
    expect(resolve('dots')).toMatchObject({ relative: 'sub/in', outside: false })
    await world.result('write', { file_path: 'dangling', content: 'x' })
    expect(world.asked.at(-1)).toEqual({
      key: 'edit',
      pattern: join(world.dir, '../other/none'),
      outside: join(world.dir, '../other/none'),
    })
  })

  test.each(['/dev/stdin', '/dev/zero', '/proc/self/environ', '/proc/1/mem', '/sys/kernel'])(
    '%s is refused at once',
    (path) => {
      expect(() => resolve(path)).toThrow('belongs to the system')
    },
  )

  test('that leads back to itself, is empty or holds a NUL is refused', async () => {
    await world.run('ln -s b a; ln -s a b; ln -s /proc/self/environ env')
    expect(() => resolve('a')).toThrow('leads back to itself')
    expect(() => resolve('env')).toThrow('belongs to the system')
    expect(() => resolve('')).toThrow('empty')
    expect(() => resolve('a\0b')).toThrow('NUL')
    expect(() => resolve('x'.repeat(5000))).toThrow('too long')
  })

  test.each(['read', 'edit', 'write', 'grep'])('%s refuses a FIFO without opening it', async (tool) => {
    await world.run('mkfifo pipe')
    const args = { file_path: 'pipe', path: 'pipe', pattern: 'x', old_string: 'a', new_string: 'b', content: 'c' }
    const result = await world.result(tool, args)
    expect(result).toMatchObject({ isError: true, metadata: { code: 'not-a-file' } })
    expect(result.output).toContain('pipe is a FIFO')
  })
})

test('a workspace must be a folder', async () => {
  await world.write('file', '')
  expect(() => createWorkspace(join(world.dir, 'file'))).toThrow('is not a folder')
  expect(() => createWorkspace(join(world.dir, 'none'))).toThrow('There is no folder')
})
