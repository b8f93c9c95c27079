import { afterAll, beforeEach, expect, test } from 'vitest'
import { createToolWorld, removeToolWorlds, type ToolWorld } from './testing/tool-world.ts'

let world: ToolWorld
beforeEach(async () => {
  world = await createToolWorld()
})
afterAll(removeToolWorlds)

const file = '.troupe/memory.md'
const remember = (args: Record<string, unknown>) => world.result('update_memory', args)

test('what is to be remembered is added, a line of its own each time', async () => {
  expect(await remember({ content: 'Tests need Node 22.' })).toMatchObject({ isError: false })
  await remember({ content: 'Use tabs.\n' })
  expect(await world.text(file)).toBe('Tests need Node 22.\nUse tabs.\n')
  const again = await remember({ content: 'Use tabs.' })
  expect(again).toMatchObject({ isError: false, output: expect.stringContaining('already') })
  expect(await world.text(file)).toBe('Tests need Node 22.\nUse tabs.\n')
})

test('is put to the permissions as an edit of that file, with the diff', async () => {
  const ask = () => ({ action: 'ask' as const, reason: '' })
  const outcome = await world.call('update_memory', { content: 'Use tabs.' }, { decide: ask })
  if (outcome.type !== 'ask') throw new Error('no ask')
  expect(outcome.ask).toMatchObject({ kind: 'edit', key: 'edit', pattern: file })
  expect(outcome.ask.detail).toContain('+Use tabs.')
  expect(await world.exists(file)).toBe(false)
})

test('replaces the whole only for a session that has read it', async () => {
  await world.write(file, 'old\n')
  expect(await remember({ content: 'new', replace: true })).toMatchObject({
    isError: true,
    output: expect.stringContaining('Read .troupe/memory.md'),
  })
  await world.result('read', { file_path: file })
  expect(await remember({ content: 'new', replace: true })).toMatchObject({ isError: false })
  expect(await world.text(file)).toBe('new\n')
})

test('does not grow without end', async () => {
  await remember({ content: 'x'.repeat(11_000) })
  const result = await remember({ content: 'y'.repeat(2000) })
  expect(result).toMatchObject({ isError: true, output: expect.stringContaining('replace') })
  expect((await world.text(file)).length).toBe(11_001)
})
