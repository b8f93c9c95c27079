import * as z from 'zod'
import type { AgentDefinition, ToolSwitch } from '../core/agent.ts'
import { RuntimeError } from '../core/errors.ts'
import type { Action, Rule } from '../core/permission.ts'
import { assembleAgent } from './assemble-agent.ts'
import { DefinitionError } from './definition-error.ts'
import { findKey } from './frontmatter-keys.ts'
import type { Field } from './parse-frontmatter.ts'

const action = z.enum(['allow', 'ask', 'deny'])
const toolSwitch = z.strictObject({ pattern: z.string().min(1), allow: z.boolean() })
const rule = z.object({ key: z.string().min(1), pattern: z.string(), action })

const inputShape = z.looseObject({
  name: z.string().trim().min(1),
  description: z.string().optional(),
  prompt: z.string(),
  tools: z.union([z.string(), z.array(z.string()), z.array(toolSwitch), z.record(z.string(), z.boolean())]).optional(),
  permission: z
    .union([action, z.array(rule), z.record(z.string(), z.union([action, z.record(z.string(), action)]))])
    .optional(),
})

/** An agent given in code: the fields of an agent file, with the prompt as one of them. */
export type AgentInput = Partial<Omit<AgentDefinition, 'name' | 'prompt' | 'tools' | 'permission' | 'source'>> & {
  name: string
  prompt: string
  /** A list or text means only these; a map switches single tools. */
  tools?: string | string[] | ToolSwitch[] | Record<string, boolean>
  permission?: Action | Record<string, Action | Record<string, Action>> | Omit<Rule, 'source'>[]
}

/** Checks an agent given in code. Throws `bad-agent` with the field and the reason. */
export function parseAgentInput(input: AgentInput): AgentDefinition {
  const parsed = inputShape.safeParse(input)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!
    throw new RuntimeError('bad-agent', `${labelOf(input)}: "${issue.path.join('.')}" is wrong: ${issue.message}.`)
  }
  try {
    return assemble(input)
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    throw new RuntimeError('bad-agent', `${labelOf(input)}: ${error.message}`, { cause: error })
  }
}

function assemble({ name, description, prompt, tools, permission, ...rest }: AgentInput): AgentDefinition {
  const switches = Array.isArray(tools) && typeof tools[0] === 'object' ? (tools as ToolSwitch[]) : undefined
  const rules = Array.isArray(permission) ? permission : undefined
  const fields = fieldsOf({ ...rest, tools: switches ? undefined : tools, permission: rules ? undefined : permission })
  const { agent } = assembleAgent({
    fields,
    name: name.trim(),
    description: description?.trim() || name.trim(),
    prompt: prompt.trim(),
    format: 'troupe',
    source: { kind: 'code' },
    keepUnknown: true,
  })
  if (switches) agent.tools = [...switches.map(({ pattern, allow }) => ({ pattern, allow })), ...agent.tools]
  if (rules) agent.permission = [...rules.map((entry) => ({ ...entry, source: 'agent' as const })), ...agent.permission]
  return agent
}

function fieldsOf(values: Record<string, unknown>): Map<string, Field> {
  const fields = new Map<string, Field>()
  for (const [written, value] of Object.entries(values)) {
    if (value === undefined || written === 'source') continue
    const key = findKey(written)?.key
    if (key === undefined) throw new DefinitionError(`"${written}" is no field of an agent.`)
    fields.set(key, { written, value: toMaps(value), line: 1 })
  }
  return fields
}

function toMaps(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value
  return new Map(Object.entries(value).map(([key, inner]) => [key, toMaps(inner)]))
}

function labelOf(input: unknown): string {
  const name = typeof input === 'object' && input !== null && 'name' in input ? input.name : undefined
  return typeof name === 'string' && name !== '' ? `Agent "${name}"` : 'An agent'
}
