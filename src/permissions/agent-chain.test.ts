import { beforeAll, describe, expect, test } from 'vitest'
import type { Action, AgentLevel, PermissionRequest, Rule } from '../core/permission.ts'
import { createDecider } from './decide.ts'
import { defaultRules } from './default-rules.ts'
import { loadShellParser } from './shell/load-shell-parser.ts'

beforeAll(loadShellParser)

type Written = [key: string, pattern: string, action: Action]

const level = (mayLoosen: boolean, ...written: Written[]): AgentLevel => ({
  rules: written.map(([key, pattern, action]) => ({ key, pattern, action, source: 'agent' })),
  mayLoosen,
})

/** What the last agent of a chain may do, the root's first. */
function decide(chain: AgentLevel[], request: PermissionRequest, more: Rule[] = []): Action {
  const own = chain.at(-1) ?? level(true)
  const decider = createDecider({
    settings: { permissionMode: 'ask', rules: [...defaultRules, ...more] },
    above: chain.slice(0, -1),
    agentRules: own.rules,
    agentMayLoosen: own.mayLoosen,
    grants: more.filter(({ source }) => source === 'session'),
    dir: import.meta.dirname,
  })
  return decider(request).action
}

const edit = { key: 'edit', pattern: 'a.txt' }
const bash = (pattern: string) => ({ key: 'bash', pattern })
const nothing = level(true)

describe('a sub-agent may do no more than each agent above it', () => {
  test('what its parent is denied, it is denied, whatever its own file says', () => {
    const plan = level(true, ['edit', '*', 'deny'])
    expect(decide([plan, nothing], edit)).toBe('deny')
    expect(decide([plan, level(true, ['edit', '*', 'allow'])], edit)).toBe('deny')
    expect(decide([plan, nothing, nothing], edit)).toBe('deny')
  })

  test('what its parent must ask for, it must ask for', () => {
    expect(decide([nothing, level(true, ['*', '*', 'allow'])], bash('make'))).toBe('ask')
    expect(decide([level(true, ['bash', 'make', 'allow']), level(true, ['bash', '*', 'allow'])], bash('make'))).toBe(
      'allow',
    )
    expect(decide([level(true, ['bash', 'make', 'allow']), level(true, ['bash', '*', 'allow'])], bash('touch b'))).toBe(
      'ask',
    )
  })

  test('its own file narrows further', () => {
    const free = level(true, ['bash', '*', 'allow'])
    expect(decide([free, level(true, ['bash', 'make', 'deny'])], bash('make'))).toBe('deny')
    expect(decide([free, nothing], bash('make'))).toBe('ask')
  })

  test('a parent that denies all but one command leaves its child that one', () => {
    const parent = level(true, ['bash', '*', 'deny'], ['bash', 'make', 'allow'])
    expect(decide([parent, nothing], bash('make'))).not.toBe('deny')
    expect(decide([parent, nothing], bash('touch b'))).toBe('deny')
  })

  test('a root agent of a file that may loosen is allowed what it says, one that may not still asks', () => {
    expect(decide([level(true, ['edit', '*', 'allow'])], edit)).toBe('allow')
    expect(decide([level(false, ['edit', '*', 'allow'])], edit)).toBe('ask')
  })

  test('a flag or an answer allows a child what nothing above it denies', () => {
    const flag: Rule = { key: 'edit', pattern: '*', action: 'allow', source: 'flag' }
    const grant: Rule = { ...flag, source: 'session' }
    for (const rule of [flag, grant]) {
      expect(decide([nothing, nothing], edit, [rule])).toBe('allow')
      expect(decide([level(true, ['edit', '*', 'deny']), nothing], edit, [rule])).toBe('deny')
    }
  })
})
