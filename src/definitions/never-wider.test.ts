import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AgentDefinition } from '../core/agent.ts'
import { DefinitionError } from './definition-error.ts'
import { parseAgent } from './parse-agent.ts'
import { canonicalTools } from './tool-names.ts'
import { wildcardCovers } from './wildcard.ts'

/** `mayOn`: at most these tools. `off`: none of these. `denied`: nothing under these permission keys. */
type Stated = { head: string; mayOn?: string[]; off?: string[]; denied?: string[] }

/** Each states something that its agent must never get more of. */
const stated: Stated[] = [
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
]

const kinds = ['delete', 'insert', 'replace', 'swap', 'double'] as const
type Change = { at: number; kind: (typeof kinds)[number]; char: string }

// A number sign makes a comment and a star a wildcard: then the file states something else.
const chars = [...' \n\t:-"\'[]{}(),|>&!%@`?=~\\/._abdelorstwxRWB019']
const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(400),
  kind: fc.constantFrom(...kinds),
  char: fc.constantFrom(...chars),
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

/** What an agent may do that its whole file forbade. */
function widened(text: string, { mayOn, off = [], denied = [] }: Stated): string[] {
  const agent = loaded(text)
  if (!agent) return []
  return [
    ...canonicalTools.filter((tool) => isOn(agent, tool) && mayOn && !mayOn.includes(tool)),
    ...off.filter((tool) => isOn(agent, tool)),
    ...denied.filter((key) => !isDenied(agent, key) && isOn(agent, key)),
  ]
}

describe('a damaged file is refused or restricts at least as much as it stated', () => {
  for (const file of stated) {
    const whole = `---\n${file.head}\n---\nYou help.\n\n---\n\nMore text.\n`
    const name = file.head.replaceAll('\n', ' / ')

    test(`after every single slip: ${name}`, () => {
      expect(loaded(whole)).toBeDefined()
      for (let at = 0; at < file.head.length + 8; at++) {
        for (const kind of kinds) {
          for (const char of kind === 'insert' || kind === 'replace' ? chars : ['']) {
            const text = changed(whole, { at, kind, char })
            if (widened(text, file).length > 0) expect.fail(`${JSON.stringify(text)} allows ${widened(text, file)}`)
          }
        }
      }
    })

    test(`after two slips: ${name}`, () => {
      fc.assert(
        fc.property(change, change, (first, second) => {
          const text = changed(changed(whole, first), second)
          if (widened(text, file).length > 0) expect.fail(`${JSON.stringify(text)} allows ${widened(text, file)}`)
        }),
        { numRuns: Number(process.env.SLIPS ?? 2000), seed: 7 },
      )
    })
  }
})
