import type { AgentDefinition, AgentLimits, AgentMode, ToolSwitch } from '../core/agent.ts'
import type { Rule } from '../core/permission.ts'
import { agentRule, capAtAsk } from './access-rules.ts'
import { type AgentFormat, parseModelName } from './agent-model.ts'
import { type AgentShape, parseAgentShape } from './agent-shape.ts'
import { refuse, type Warning } from './definition-error.ts'
import type { Field } from './parse-frontmatter.ts'
import { parsePermission } from './parse-permission.ts'
import { intersectTools, limitRules, parseDisallowedTools, parseTools, type ToolChoice } from './parse-tools.ts'

export type AssembleRequest = {
  fields: Map<string, Field>
  name: string
  description: string
  prompt: string
  format: AgentFormat
  source: AgentDefinition['source']
  /** Names of tools that only the caller knows are taken as they are. */
  keepUnknown?: boolean
}

/** Makes an agent of its fields. Throws a `DefinitionError` for a value that is wrong, or unclear and restricting. */
export function assembleAgent(request: AssembleRequest): {
  agent: AgentDefinition
  disabled: boolean
  warnings: Warning[]
} {
  const { fields, name, description, prompt, format, source } = request
  const warnings: Warning[] = []
  const shape = parseAgentShape(fields)
  const { model, note } = parseModelName(shape.model, format)
  if (note) warnings.push({ message: note, line: fields.get('model')?.line })
  checkHooks(fields.get('hooks'), warnings)
  const agent: AgentDefinition = {
    name,
    description,
    prompt,
    mode: modeOf(shape, format),
    ...accessOf(request, warnings),
    limits: limitsOf(shape),
    source,
  }
  return {
    agent: Object.assign(agent, optionalParts(shape, fields, model)),
    disabled: shape.disable === true,
    warnings,
  }
}

function optionalParts(shape: AgentShape, fields: Map<string, Field>, model?: string): Partial<AgentDefinition> {
  const options = { ...shape.options, ...defined({ temperature: shape.temperature, top_p: shape.topP }) }
  return defined({
    model,
    toolset: shape.toolset,
    restart: shape.restart,
    isolation: shape.isolation,
    think: shape.think,
    options: Object.keys(options).length > 0 ? options : undefined,
    spawns: shape.spawns,
    denyAtDepth: deniedAtDepth(fields.get('denyAtDepth')),
    mcpServers: serverNames(fields.get('mcpServers')?.value),
  })
}

/** An agent that no model may choose is one for people. In opencode's folders a missing mode means both. */
function modeOf({ mode, disableModelInvocation, userInvocable }: AgentShape, format: AgentFormat): AgentMode {
  if (disableModelInvocation) return 'primary'
  if (userInvocable === false) return 'subagent'
  return mode ?? (format === 'opencode' ? 'all' : 'subagent')
}

function limitsOf(shape: AgentShape): AgentLimits {
  const { maxTurns, maxTokens, timeoutMs, maxChildren, maxChildrenTotal, maxDepth, stallMs } = shape
  return {
    ...shape.limits,
    ...defined({ maxTurns, maxTokens, timeoutMs, maxChildren, maxChildrenTotal, maxDepth, stallMs }),
  }
}

/** All that narrows an agent, in one: what `tools`, `permission` and the like leave together. */
function accessOf(
  { fields, keepUnknown, source }: AssembleRequest,
  warnings: Warning[],
): { tools: ToolSwitch[]; permission: Rule[] } {
  const choice = toolChoice(fields, keepUnknown)
  const permission = fields.has('permission')
    ? parsePermission(fields.get('permission')!.value, fields.get('permission')!.line, source.path)
    : { rules: [], switches: [], warnings: [] }
  const denied = disallowed(fields.get('disallowedTools'))
  warnings.push(...choice.warnings, ...permission.warnings)
  const rules = [...limitRules(permission.rules, choice), ...denied.rules]
  return {
    tools: [...choice.switches, ...denied.switches, ...permission.switches],
    permission: withMode(rules, fields.get('permissionMode'), warnings),
  }
}

function toolChoice(fields: Map<string, Field>, keepUnknown?: boolean): ToolChoice {
  const parse = (field: Field) => parseTools(field.value, { key: field.written, line: field.line, keepUnknown })
  const [first, second] = ['tools', 'allowedTools'].flatMap((key) => fields.get(key) ?? [])
  if (!first) return { switches: [], limits: [], grants: [], denials: [], warnings: [] }
  return second ? intersectTools(parse(first), parse(second), second.line) : parse(first)
}

function disallowed(field: Field | undefined): { switches: ToolSwitch[]; rules: Rule[] } {
  return field
    ? parseDisallowedTools(field.value, { key: field.written, line: field.line })
    : { switches: [], rules: [] }
}

function deniedAtDepth(field: Field | undefined): string[] | undefined {
  return field && disallowed(field).switches.map(({ pattern }) => pattern)
}

/** Claude's `permissionMode`. What would widen is left to the run's own flags. */
function withMode(rules: Rule[], field: Field | undefined, warnings: Warning[]): Rule[] {
  const mode = typeof field?.value === 'string' ? field.value.toLowerCase() : undefined
  if (!field || mode === 'default' || mode === 'manual') return rules
  if (mode === 'plan') return [...capAtAsk(rules, 'bash'), agentRule('edit', '*', 'deny')]
  if (mode === 'dontask') return withoutAsking(rules)
  if (mode !== 'acceptedits' && mode !== 'bypasspermissions' && mode !== 'auto') {
    refuse(`"${field.written}" must be default, plan, acceptEdits, dontAsk or bypassPermissions.`, field.line)
  }
  warnings.push({ message: `${field.written}: ${field.value} is left to --permission of the run.`, line: field.line })
  return rules
}

function withoutAsking(rules: Rule[]): Rule[] {
  const base = [agentRule('*', '*', 'deny'), ...['read', 'skill', 'task'].map((key) => agentRule(key, '*', 'allow'))]
  return [...base, ...rules.map((rule) => (rule.action === 'ask' ? { ...rule, action: 'deny' as const } : rule))]
}

/** Throws for hooks that judge calls: they are a restriction, and hooks do not run here. Others are worth a warning. */
export function checkHooks(field: Field | undefined, warnings: Warning[]): void {
  if (!field || field.value === null) return
  const text = JSON.stringify([...(field.value instanceof Map ? field.value.keys() : ['?'])])
  if (/pre|permission|before|\?/i.test(text)) {
    refuse(
      'This agent relies on a hook that judges calls, and hooks do not run here. Say the same with permission:',
      field.line,
    )
  }
  warnings.push({ message: 'Hooks do not run here.', line: field.line })
}

function serverNames(value: unknown): string[] | undefined {
  if (value instanceof Map) return [...value.keys()].map(String)
  if (typeof value === 'string') return value.split(/[\s,]+/).filter((name) => name !== '')
  if (!Array.isArray(value)) return undefined
  return value.flatMap((item) => (item instanceof Map ? [...item.keys()].map(String) : [String(item)]))
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>
}
