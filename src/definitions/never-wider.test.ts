import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AgentDefinition } from '../core/agent.ts'
import { DefinitionError } from './definition-error.ts'
import { parseAgent } from './parse-agent.ts'
import { canonicalTools } from './tool-names.ts'
import { wildcardCovers } from './wildcard.ts'

/** Each states something that its agent must never get more of. */
const stated = [
  { head: 'name: a\ndescription: Helps.\ntools: Read, Grep\nmodel: x', mayOn: ['read', 'grep', 'glob'] },
  { head: 'description: Use when: asked\ntools:\n  - Read\ncolor: blue', mayOn: ['read'] },
  { head: 'description: "Quoted."\nallowed-tools: [Read, Glob]\nmode: subagent', mayOn: ['read', 'glob'] },
  { head: 'description: >\n  Folded text\n  over lines.\ntools: Read Grep', mayOn: ['read', 'grep'] },
  { head: 'description: d\ntools:\n  bash: false\n  write: false\nname: b', off: ['bash', 'write'] },
  { head: 'description: d\ndisallowedTools: Bash, Write', off: ['bash', 'write'] },
  { head: 'name: ro\npermission:\n  edit: deny\n  bash: deny\ndescription: d', denied: ['edit', 'bash'] },
  { head: 'description: d\npermission: { bash: deny, edit: deny }\nmodel: y', denied: ['edit', 'bash'] },
  {
    head: 'description: Helps. Examples:\n<example>\nuser: "a"\n</example>\npermission:\n  bash: deny',
    denied: ['bash'],
  },
] as { head: string; mayOn?: string[]; off?: string[]; denied?: string[] }[]

type Change = { at: number; kind: 'delete' | 'insert' | 'replace' | 'swap' | 'double'; char: string }

// A number sign makes a comment and a star a wildcard: then the file states something else.
const char = fc.constantFrom(...' \n\t:-"\'[]{}(),|>&!%@`?=~\\/._', ...'abdelorstwxRWB019')
const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(400),
  kind: fc.constantFrom('delete', 'insert', 'replace', 'swap', 'double'),
  char,
})

function changed(text: string, { at, kind, char }: Change): string {
  const i = at % text.length
  if (kind === 'delete') return text.slice(0, i) + text.slice(i + 1)
  if (kind === 'insert') return text.slice(0, i) + char + text.slice(i)
  if (kind === 'replace') return text.slice(0, i) + char + text.slice(i + 1)
  if (kind === 'double') return text.slice(0, i) + text.slice(i, i + 1) + text.slice(i)
  return text.slice(0, i) + (text[i + 1] ?? '') + text[i] + text.slice(i + 2)
}

function loaded(text: string): AgentDefinition | undefined {
  try {
    return parseAgent({ text, fallbackName: 'a', format: 'claude', source: { kind: 'project' } }).agent
  } catch (error) {
    if (error instanceof DefinitionError) return undefined
    throw error
  }
}

function isOn({ tools }: AgentDefinition, tool: string): boolean {
  return tools.findLast(({ pattern }) => wildcardCovers(pattern, tool))?.allow ?? true
}

function isDenied({ permission }: AgentDefinition, key: string): boolean {
  const rule = permission.findLast((rule) => wildcardCovers(rule.key, key) && wildcardCovers(rule.pattern, 'anything'))
  return rule?.action === 'deny'
}

describe('a damaged file is refused or restricts at least as much as it stated', () => {
  for (const { head, mayOn, off = [], denied = [] } of stated) {
    test(head.replaceAll('\n', ' / '), () => {
      const whole = `---\n${head}\n---\nYou help.\n\n---\n\nMore text.\n`
      expect(loaded(whole)).toBeDefined()
      fc.assert(
        fc.property(fc.array(change, { minLength: 1, maxLength: 2 }), (changes) => {
          const text = changes.reduce(changed, whole)
          const agent = loaded(text)
          if (!agent) return
          const wider = canonicalTools.filter((tool) => isOn(agent, tool) && mayOn && !mayOn.includes(tool))
          const kept = off.filter((tool) => isOn(agent, tool))
          const open = denied.filter((key) => !isDenied(agent, key) && isOn(agent, key))
          if (wider.length + kept.length + open.length > 0) {
            expect.fail(`${JSON.stringify(text)} leaves ${[...wider, ...kept, ...open].join(', ')}`)
          }
        }),
        { numRuns: 3000 },
      )
    })
  }
})
