import { expect, test } from 'vitest'
import { type AgentInput, parseAgentInput } from './parse-agent-input.ts'

test('an agent in code has the fields of a file', () => {
  const agent = parseAgentInput({
    name: 'counter',
    prompt: 'You count.',
    tools: ['read', 'my_tool'],
    permission: { bash: { '*': 'deny', 'wc *': 'allow' } },
    options: { temperature: 0 },
    limits: { maxTurns: 3 },
    mode: 'all',
    denyAtDepth: ['webfetch'],
  })
  expect(agent).toEqual({
    name: 'counter',
    description: 'counter',
    prompt: 'You count.',
    mode: 'all',
    tools: [
      { pattern: '*', allow: false },
      { pattern: 'read', allow: true },
      { pattern: 'my_tool', allow: true },
    ],
    permission: [
      { key: 'bash', pattern: '*', action: 'deny', source: 'agent' },
      { key: 'bash', pattern: 'wc *', action: 'allow', source: 'agent' },
    ],
    limits: { maxTurns: 3 },
    options: { temperature: 0 },
    denyAtDepth: ['webfetch'],
    source: { kind: 'code' },
  })
})

test('switches and rules may be given as the runtime keeps them', () => {
  const tools = [{ pattern: 'bash', allow: false }]
  const permission = [{ key: 'edit', pattern: 'docs/*', action: 'ask' as const }]
  const agent = parseAgentInput({ name: 'a', prompt: 'p', tools, permission })
  expect(agent.tools).toEqual(tools)
  expect(agent.permission).toEqual([{ ...permission[0], source: 'agent' }])
  expect(parseAgentInput(agent)).toEqual(agent)
})

test.each<[string, unknown, string]>([
  ['no name', { prompt: 'p' }, 'An agent: "name" is wrong'],
  ['no prompt', { name: 'a' }, 'Agent "a": "prompt" is wrong'],
  ['an unknown field', { name: 'a', prompt: 'p', toolz: ['read'] }, 'Agent "a": "toolz" is no field of an agent'],
  ['a wrong action', { name: 'a', prompt: 'p', permission: { bash: 'never' } }, 'Agent "a": "permission'],
  ['an unknown key', { name: 'a', prompt: 'p', permission: { bsh: 'deny' } }, '"bsh" is no key'],
  ['a wrong limit', { name: 'a', prompt: 'p', limits: { maxTurns: 0 } }, '"limits.maxTurns" is wrong'],
  ['no object', 'agent', 'An agent: '],
])('%s is refused', (_, input, message) => {
  expect(() => parseAgentInput(input as AgentInput)).toThrow(
    expect.objectContaining({ code: 'bad-agent', message: expect.stringContaining(message) }),
  )
})
