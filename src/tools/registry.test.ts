import { describe, expect, test } from 'vitest'
import type { Action, RuleSource } from '../core/permission.ts'
import { createRegistry, type RegistryRequest } from './registry.ts'
import { chooseToolset } from './toolsets.ts'

const spawnable = [
  { name: 'explorer', description: 'Reads code and answers questions about it.' },
  { name: 'fixer', description: `Fixes.\n${'long '.repeat(200)}` },
]
const skill = { name: 's', description: '', path: '/s/SKILL.md', source: { kind: 'user' as const } }

const registry = (more: Partial<RegistryRequest> = {}) =>
  createRegistry({
    agent: { tools: [], permission: [] },
    depth: 0,
    settings: { maxDepth: 1, rules: [] },
    toolset: 'full',
    spawnable,
    skills: [skill],
    ...more,
  })

const switches = (tools: Record<string, boolean>) => ({
  agent: { tools: Object.entries(tools).map(([pattern, allow]) => ({ pattern, allow })), permission: [] },
})

const rule = (key: string, pattern: string, action: Action, source: RuleSource = 'agent') => ({
  key,
  pattern,
  action,
  source,
})

const everything =
  'bash read edit write glob grep webfetch todowrite todoread task task_send task_wait task_cancel read_sub_agent skill update_memory'

describe('the tools of a session', () => {
  test('are all of them for a root without restrictions', () => {
    expect(registry().names().join(' ')).toBe(everything)
  })

  test.each([
    [{ write: false }, everything.replace(' write', '')],
    [{ '*': false, read: true, 'g*': true }, 'read glob grep'],
    [{ 'todo*': false, todoread: true }, everything.replace(' todowrite', '')],
    [{ shell: false }, everything.replace('bash ', '')],
    [{ '*': false }, ''],
  ])('follow the switches %j of the agent', (tools, expected) => {
    expect(registry(switches(tools)).names().join(' ')).toBe(expected)
  })

  test('of a child at the deepest level have neither children nor a to-do list', () => {
    expect(registry({ depth: 1 }).names().join(' ')).toBe('bash read edit write glob grep webfetch skill update_memory')
    expect(registry({ depth: 1 }).find('task')).toBeUndefined()
    expect(registry({ depth: 1, settings: { maxDepth: 2, rules: [] } }).names()).toContain('task')
    expect(registry({ depth: 1, ...switches({ task: true }) }).names()).not.toContain('task')
  })

  test('of a child can only be narrowed by its agent', () => {
    const agent = { tools: [], permission: [], denyAtDepth: ['bash', 'write_file'] }
    expect(registry({ depth: 1, agent }).names().join(' ')).toBe('read edit glob grep webfetch skill update_memory')
    expect(registry({ depth: 0, agent }).names().join(' ')).toBe(everything)
  })

  test('leave out what has nothing to work on', () => {
    const ofJobs = ' task task_send task_wait task_cancel read_sub_agent'
    expect(registry({ spawnable: [] }).names().join(' ')).toBe(everything.replace(ofJobs, ''))
    const withJobs = registry({ spawnable: [], hasJobs: true })
    expect(withJobs.names().join(' ')).toBe(everything.replace(' task ', ' '))
    expect(registry({ skills: [] }).names()).not.toContain('skill')
  })

  test('leave out what the rules deny whatever the call', () => {
    const named = (permission: RegistryRequest['agent']['permission'], rules: typeof permission = []) =>
      registry({ agent: { tools: [], permission }, settings: { maxDepth: 1, rules } }).names()
    expect(named([rule('edit', '*', 'deny')])).not.toContain('write')
    expect(named([rule('edit', '*', 'deny'), rule('edit', 'docs/*', 'allow')])).toContain('write')
    expect(named([rule('edit', 'docs/*', 'allow'), rule('edit', '*', 'deny')])).not.toContain('edit')
    expect(named([rule('*', '*', 'deny'), rule('read', '*', 'allow')])).toEqual([
      'read',
      'glob',
      'grep',
      'todowrite',
      'todoread',
      'task_send',
      'task_wait',
      'task_cancel',
      'read_sub_agent',
    ])
    expect(named([rule('bash', '*', 'allow')], [rule('bash', '*', 'deny', 'user')])).toContain('bash')
  })
})

describe('the names of a toolset', () => {
  test('are found beside the canonical ones', () => {
    const compact = registry({ toolset: 'compact' })
    expect(compact.names().join(' ')).toBe(
      'shell read_file edit_file write_file list_files grep webfetch todo spawn_sub_agent task_send task_wait task_cancel read_sub_agent skill update_memory',
    )
    expect(compact.find('shell')?.name).toBe('bash')
    expect(compact.find('bash')?.name).toBe('bash')
    expect(compact.find('todoread')?.name).toBe('todoread')
    expect(compact.nameOf('write')).toBe('write_file')
    expect(registry().find('shell')).toBeUndefined()
    expect(registry().find('toString')).toBeUndefined()
  })

  test('are chosen by the agent, the configuration, then the size of the model', () => {
    expect(chooseToolset('full', 'compact', 1)).toBe('full')
    expect(chooseToolset('auto', 'compact', 70)).toBe('compact')
    expect(chooseToolset(undefined, 'auto', 8.2)).toBe('compact')
    expect(chooseToolset(undefined, 'auto', 9)).toBe('full')
    expect(chooseToolset(undefined, 'auto', undefined)).toBe('full')
  })
})

describe('what the model is sent', () => {
  test.each([
    ['compact', 1300],
    ['full', 4000],
  ] as const)('is small with %s', (toolset, tokens) => {
    expect(JSON.stringify(registry({ toolset }).specs()).length / 4).toBeLessThan(tokens)
  })

  test('lists in task the agents that may be spawned', () => {
    const describe = (toolset: 'full' | 'compact') =>
      registry({ toolset })
        .specs()
        .find(({ name }) => name === (toolset === 'full' ? 'task' : 'spawn_sub_agent'))!.description
    expect(describe('full')).toContain('\n- explorer: Reads code and answers questions about it.\n- fixer: Fixes. long')
    expect(describe('full').length).toBeLessThan(1000)
    expect(describe('compact')).toContain('- explorer: ')
  })

  test('is the same each time, and plain JSON Schema', () => {
    expect(JSON.stringify(registry().specs())).toBe(JSON.stringify(registry().specs()))
    const read = registry().specs()[1]
    expect(read).toMatchObject({
      name: 'read',
      parameters: { type: 'object', required: ['file_path'], properties: { offset: { type: 'integer', minimum: 0 } } },
    })
    const text = JSON.stringify(registry().specs())
    expect(text).not.toContain('9007199254740991')
    expect(text).not.toContain('$schema')
  })
})
