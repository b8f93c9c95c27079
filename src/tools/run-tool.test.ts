import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { RuntimeError } from '../core/errors.ts'
import type { OpenAsk } from '../core/state.ts'
import { defineTool } from './define-tool.ts'
import { allowAll, createToolWorld, removeToolWorlds, type ToolWorld } from './testing/tool-world.ts'

let world: ToolWorld
beforeEach(async () => {
  world = await createToolWorld()
})
afterAll(removeToolWorlds)

const echo = defineTool({
  name: 'echo',
  description: 'Gives its parameters back.',
  input: z.object({
    text: z.string(),
    times: z.int().min(1).optional(),
    loud: z.boolean().default(false),
    list: z.array(z.object({ n: z.number() })).optional(),
    file_path: z.string().optional(),
  }),
  effect: 'read',
  permission: () => undefined,
  run: async (input) => ({ output: JSON.stringify(input) }),
})

const echoed = async (args: Record<string, unknown>) => {
  const { output } = await world.result('echo', args, { tools: [echo] })
  return JSON.parse(output)
}

describe('arguments', () => {
  test('that mean the right thing are accepted', async () => {
    expect(await echoed({ text: 'a', times: '20', loud: 'True', list: '[{"n":"1.5"}]' })).toEqual({
      text: 'a',
      times: 20,
      loud: true,
      list: [{ n: 1.5 }],
    })
    expect(await echoed({ text: 5, times: null, list: null })).toEqual({ text: '5', loud: false })
    expect(await echoed({ text: 'a', filePath: 'x' })).toEqual({ text: 'a', loud: false, file_path: 'x' })
    expect(await echoed({ text: '', file_path: '' })).toEqual({ text: '', loud: false })
    expect(await echoed({ text: 'a', path: 'x', __proto__: { loud: true } })).toEqual({
      text: 'a',
      loud: false,
      file_path: 'x',
    })
  })

  test.each([
    [{}, 'text'],
    [{ text: null }, 'text'],
    [{ text: 'a', times: 'many' }, 'times'],
    [{ text: 'a', times: '0' }, 'times'],
    [{ text: 'a', times: 1.5 }, 'times'],
    [{ text: 'a', list: '{"n":1}' }, 'list'],
    [{ text: 'a', list: '[{"n":' }, 'list'],
  ])('%j are an error that names the problem and the schema', async (args, problem) => {
    const result = await world.result('echo', args, { tools: [echo] })
    expect(result).toMatchObject({ isError: true, how: 'error' })
    expect(result.output).toContain(`\n- ${problem}`)
    expect(result.output).toContain('"required":["text"]')
  })

  test('that are no JSON never run the tool', async () => {
    const result = await world.result('write', {}, { invalid: '{"file_path":' })
    expect(result).toMatchObject({ isError: true, how: 'error' })
    expect(result.output).toContain('invalid JSON arguments')
    expect(world.started).toEqual([])
  })
})

describe('an unknown tool', () => {
  test('is answered with the valid names of the toolset', async () => {
    const { output } = await world.result('rm_all', {}, { toolset: 'compact' })
    expect(output).toContain('unknown tool "rm_all"')
    expect(output).toContain('read_file')
    expect(output).not.toContain('todoread')
  })

  test('a child that tries task is told what it has', async () => {
    const spawnable = [{ name: 'explorer', description: 'looks' }]
    const { output } = await world.result('task', { agent: 'explorer', prompt: 'x' }, { depth: 1, spawnable })
    expect(output).toMatch(
      /^unknown tool "task"\. Valid tools: bash, read, edit, write, glob, grep, webfetch, skill, update_memory\.$/,
    )
  })

  test('sub_agent_result is explained', async () => {
    const { output, isError } = await world.result('sub_agent_result', {})
    expect(isError).toBe(true)
    expect(output).toContain('the runtime makes these calls')
  })
})

describe('permission', () => {
  const args = { file_path: 'a.txt', content: 'x' }
  const answeredBy = (answer: OpenAsk['answer'], pattern = 'a.txt'): OpenAsk => ({
    id: 'a' as never,
    kind: 'edit',
    title: '',
    detail: '',
    key: 'edit',
    pattern,
    answer,
  })

  test('a denial is a text that says why and what else to do', async () => {
    const decide = () => ({ action: 'deny' as const, reason: 'A rule of the project denies edit *.' })
    const result = await world.result('write', args, { decide })
    expect(result).toMatchObject({ isError: true, how: 'denied' })
    expect(result.output).toContain('A rule of the project denies edit *.')
    expect(await world.exists('a.txt')).toBe(false)
    expect(world.started).toEqual([])
  })

  test('a rejection carries the words of the person', async () => {
    const answered = answeredBy({ decision: 'reject', text: 'use b.txt' })
    const result = await world.result('write', args, { answered })
    expect(result).toMatchObject({ how: 'denied', output: expect.stringContaining('use b.txt') })
    expect(world.started).toEqual([])
  })

  test('an answer is not asked for again', async () => {
    const decide = () => ({ action: 'ask' as const, reason: '' })
    const result = await world.result('write', args, { decide, answered: answeredBy({ decision: 'always' }) })
    expect(result.how).toBe('ok')
    expect(world.asked).toEqual([])
  })

  test('an approval does not follow a link that was swapped meanwhile', async () => {
    await world.run('mkdir ../other; ln -s ../other/a.txt a.txt')
    const result = await world.result('write', args, { answered: answeredBy({ decision: 'once' }) })
    expect(result).toMatchObject({ isError: true, metadata: { code: 'changed-since-approval' } })
    expect(await world.run('ls ../other')).toBe('')
  })

  test('arguments that are not those that were approved are not run', async () => {
    const approved = { ...answeredBy({ decision: 'once' }), argsHash: '0'.repeat(64) }
    const result = await world.result('write', args, { answered: approved })
    expect(result).toMatchObject({ isError: true, metadata: { code: 'changed-since-approval' } })
    expect(await world.run('ls')).toBe('')
  })

  test('an ask without a preparation of its own shows what it is about', async () => {
    const grant = { key: 'read', pattern: '*', action: 'allow' as const, source: 'session' as const }
    const decide = () => ({ action: 'ask' as const, reason: 'a rule says so', grant })
    expect(await world.call('read', { file_path: '/etc/hostname' }, { decide })).toEqual({
      type: 'ask',
      ask: {
        kind: 'other',
        title: 'read /etc/hostname',
        detail: '/etc/hostname',
        key: 'read',
        pattern: '/etc/hostname',
        grant,
        reason: 'a rule says so',
        argsHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    })
  })
})

describe('output over the limit', () => {
  const long = `START${'😀'.repeat(20_000)}END`
  const speak = (keep?: 'head' | 'tail') =>
    defineTool({ ...echo, name: 'speak', keep, run: async () => ({ output: long }) })

  test('keeps head and tail around a marker that names the file with the whole', async () => {
    const result = await world.result('speak', { text: '' }, { tools: [speak()] })
    const file = join(world.outputDir, 'c1.1.txt')
    expect(result.output).toMatch(/^START.*\n\.\.\. \[\d+ chars truncated; full output: .* \] \.\.\.\n.*END$/su)
    expect(result.output).toContain(`full output: ${file} ]`)
    expect(result.spilled).toBe(file)
    expect(result.output.length).toBeLessThanOrEqual(30_000)
    expect(Buffer.from(result.output).toString()).toBe(result.output)
    expect(await readFile(file, 'utf8')).toBe(long)
    const dropped = Number(/\[(\d+) chars/.exec(result.output)?.[1])
    const mark = /\n\.\.\. \[.*\] \.\.\.\n/.exec(result.output)?.[0] ?? ''
    expect(result.output.length - mark.length + dropped).toBe(long.length)
  })

  test('keeps the end that the tool names', async () => {
    const head = await world.result('speak', { text: '' }, { tools: [speak('head')] })
    expect(head.output).toMatch(/^START.*\] \.\.\.$/s)
    const tail = await world.result('speak', { text: '' }, { tools: [speak('tail')] })
    expect(tail.output).toMatch(/^\.\.\. \[.*END$/s)
  })

  test('ends in a plain mark for a small model', async () => {
    const { output } = await world.result('speak', { text: '' }, { tools: [speak()], toolset: 'compact' })
    expect(output).toMatch(/^START.*\.\.\.\[truncated\]$/s)
    expect(output.length).toBeLessThanOrEqual(20_000)
    expect(Buffer.from(output).toString()).toBe(output)
  })

  test('can be read from its file without asking anybody', async () => {
    await world.result('speak', { text: '' }, { tools: [speak()] })
    const decide = () => ({ action: 'deny' as const, reason: '' })
    const result = await world.result('read', { file_path: join(world.outputDir, 'c1.1.txt') }, { decide })
    expect(result.output).toContain('START')
    await writeFile(join(world.outputDir, '../beside.txt'), 'x')
    const beside = await world.result('read', { file_path: join(world.outputDir, '../beside.txt') }, { decide })
    expect(beside.how).toBe('denied')
  })

  test('exactly at the limit is left alone', async () => {
    const exact = defineTool({ ...echo, name: 'exact', run: async () => ({ output: 'x'.repeat(30_000) }) })
    const result = await world.result('exact', { text: '' }, { tools: [exact] })
    expect(result.output).toBe('x'.repeat(30_000))
    expect(result.spilled).toBeUndefined()
  })
})

describe('failures', () => {
  const failing = (thrown: unknown, effect: 'read' | 'write' = 'read') =>
    defineTool({ ...echo, name: 'fail', effect, run: () => Promise.reject(thrown) })

  test('an expected one is told to the model as it is', async () => {
    const tools = [failing(new RuntimeError('not-found', 'a is gone. Try b.'))]
    expect(await world.result('fail', { text: '' }, { tools })).toMatchObject({
      output: 'a is gone. Try b.',
      how: 'error',
      metadata: { code: 'not-found' },
    })
  })

  test.each([new TypeError('x is undefined'), 'a string', null, undefined])(
    '%s thrown crashes nothing',
    async (thrown) => {
      const result = await world.result('fail', { text: '' }, { tools: [failing(thrown)] })
      expect(result).toMatchObject({ isError: true, how: 'error', metadata: { code: 'internal' } })
    },
  )

  test('a call whose start could not be recorded is not run, and the caller hears of it', async () => {
    const onStart = () => Promise.reject(new RuntimeError('fenced', 'an older epoch'))
    await expect(world.call('write', { file_path: 'a', content: '' }, { onStart })).rejects.toThrow('an older epoch')
    expect(await world.exists('a')).toBe(false)
  })

  test('a call of an activation that was fenced off has no result', async () => {
    const tools = [failing(new RuntimeError('fenced', 'an older epoch'))]
    await expect(world.call('fail', { text: '' }, { tools })).rejects.toThrow('an older epoch')
  })
})

describe('cancelling', () => {
  const waiting = (effect: 'read' | 'write') =>
    defineTool({
      ...echo,
      name: 'wait',
      effect,
      run: (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    })

  test('before the start says that nothing was run', async () => {
    const signal = AbortSignal.abort()
    const result = await world.result('write', { file_path: 'a', content: '' }, { signal })
    expect(result).toMatchObject({ how: 'cancelled', isError: true, output: expect.stringContaining('was not run') })
    expect(await world.exists('a')).toBe(false)
  })

  test.each([undefined, 'a reason that is no error', new RuntimeError('cancelled', 'by the user')])(
    'while it runs says that it was interrupted (%s)',
    async (reason) => {
      const cancel = new AbortController()
      const call = world.result('wait', { text: '' }, { tools: [waiting('write')], signal: cancel.signal })
      setTimeout(() => cancel.abort(reason), 20)
      const { how, output } = await call
      expect(how).toBe('cancelled')
      expect(output).toContain('interrupted')
      expect(output).toContain('its effect is unknown')
      expect(output).not.toContain('not run')
    },
  )

  test('an edit that waits for a lock does not happen', async () => {
    await world.write('a.txt', 'one')
    const cancel = new AbortController()
    let release = () => {}
    const withLock = <T>(_: string, work: () => Promise<T>) =>
      new Promise<void>((resolve) => {
        release = resolve
      }).then(work)
    const args = { file_path: 'a.txt', old_string: 'one', new_string: 'two' }
    const call = world.result('edit', args, { signal: cancel.signal, services: { withLock }, decide: allowAll })
    setTimeout(() => {
      cancel.abort()
      release()
    }, 20)
    expect((await call).how).toBe('cancelled')
    expect(await world.text('a.txt')).toBe('one')
  })
})
