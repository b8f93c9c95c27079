import * as z from 'zod'
import type { AgentDefinition, SkillDefinition } from '../core/agent.ts'
import type { AgentSummary } from '../core/messages.ts'
import type { JsonSchema, ToolSpec } from '../core/model.ts'
import type { Rule, RuleSource } from '../core/permission.ts'
import { deniedAtDepth, type RunSettings } from '../core/settings.ts'
import { matches } from '../permissions/wildcard.ts'
import { allTools } from './all-tools.ts'
import type { Tool, Toolset } from './define-tool.ts'
import { headOf } from './text.ts'
import { shownName, toolsets } from './toolsets.ts'

/** The tools of one session: filtered by agent and depth over canonical names, then named for the toolset. */
export type ToolRegistry = {
  toolset: Toolset
  /** As sent to the model; the order is stable, so the server's prompt cache holds. */
  specs(): ToolSpec[]
  /** By the toolset's name or the canonical one. */
  find(name: string): Tool | undefined
  /** The canonical name of a tool that was taken for want of trust in the agent's folder. */
  withheld(name: string): string | undefined
  /** The names that the model may use, in the order of `specs`. */
  names(): string[]
  /** The toolset's name of a canonical tool. */
  nameOf(canonical: string): string
}

export type RegistryRequest = {
  agent: Pick<AgentDefinition, 'tools' | 'permission' | 'denyAtDepth' | 'withheld'>
  depth: number
  settings: Pick<RunSettings, 'maxDepth' | 'denyAtDepth' | 'rules'>
  toolset: Toolset
  spawnable: readonly AgentSummary[]
  /** The session has sub-agents already, whatever it may spawn now. */
  hasJobs?: boolean
  /** Missing: unknown, so `skill` stays. */
  skills?: readonly SkillDefinition[]
  /** Missing: all built-in tools. */
  tools?: readonly Tool[]
}

/** Decides which tools a session has. Pure; the names, texts and schemas are computed when first asked for. */
export function createRegistry(request: RegistryRequest): ToolRegistry {
  const { toolset } = request
  const tools = (request.tools ?? allTools).filter((tool) => isOffered(tool.name, request))
  const byName = new Map<string, Tool>()
  for (const tool of tools) byName.set(shownName(toolset, tool.name), tool)
  for (const tool of tools) if (!byName.has(tool.name)) byName.set(tool.name, tool)
  const shown = tools.filter((tool) => !toolsets[toolset].hidden.includes(tool.name))
  let specs: ToolSpec[] | undefined
  return {
    toolset,
    specs: () => (specs ??= shown.map((tool) => specOf(tool, request))),
    find: (name) => byName.get(name) ?? byName.get(name.trim()),
    withheld: (name) => request.agent.withheld?.find((tool) => name === tool || name === shownName(toolset, tool)),
    names: () => shown.map((tool) => shownName(toolset, tool.name)),
    nameOf: (canonical) => shownName(toolset, canonical),
  }
}

/** Of no use to a session without sub-agents. */
const forJobs = new Set(['task_send', 'task_wait', 'task_cancel', 'read_sub_agent'])

function isOffered(name: string, request: RegistryRequest): boolean {
  const { agent, depth, settings, spawnable, hasJobs, skills } = request
  if (!allowedBySwitches(name, agent)) return false
  const denied = [...deniedAtDepth(settings, depth), ...(depth > 0 ? (agent.denyAtDepth ?? []) : [])]
  if (denied.some((pattern) => covers(pattern, name))) return false
  if (name === 'task' && spawnable.length === 0) return false
  if (forJobs.has(name) && spawnable.length === 0 && !hasJobs) return false
  if (name === 'skill' && skills?.length === 0) return false
  return !deniedOutright(name, [...settings.rules, ...agent.permission])
}

function allowedBySwitches(name: string, agent: RegistryRequest['agent']): boolean {
  return agent.tools.findLast(({ pattern }) => covers(pattern, name))?.allow ?? true
}

/** Authors write canonical names; one who wrote `shell: false` must not get `bash`. */
function covers(pattern: string, canonical: string): boolean {
  return matches(pattern, canonical) || matches(pattern, shownName('compact', canonical))
}

const permissionKeys: Readonly<Record<string, string>> = {
  bash: 'bash',
  read: 'read',
  glob: 'read',
  grep: 'read',
  edit: 'edit',
  write: 'edit',
  update_memory: 'edit',
  webfetch: 'webfetch',
  task: 'task',
  skill: 'skill',
}

/** The key under which the permissions judge a tool's calls; `undefined`: they need none. */
export function permissionKeyOf(canonical: string): string | undefined {
  return permissionKeys[canonical]
}

const scopes: readonly RuleSource[] = ['default', 'user', 'project', 'agent', 'flag', 'session']

/** A tool whose every call the rules deny only costs the model tokens and turns. */
function deniedOutright(name: string, rules: readonly Rule[]): boolean {
  const key = permissionKeys[name]
  if (key === undefined) return false
  const last = rules
    .filter((rule) => matches(rule.key, key))
    .sort((a, b) => scopes.indexOf(a.source) - scopes.indexOf(b.source))
    .at(-1)
  return last?.action === 'deny' && last.pattern === '*'
}

function specOf(tool: Tool, { toolset, spawnable }: RegistryRequest): ToolSpec {
  const profile = toolsets[toolset]
  const text = profile.texts[tool.name]
  const description = text?.description ?? tool.description
  const schema = schemaOf(tool)
  return {
    name: shownName(toolset, tool.name),
    description: tool.name === 'task' ? withAgents(description, spawnable, profile.agentChars) : description,
    parameters: text ? withTexts(schema, text) : schema,
  }
}

function withAgents(description: string, spawnable: readonly AgentSummary[], maxChars: number): string {
  const line = ({ name, description }: AgentSummary) => {
    const text = description.replace(/\s+/g, ' ').trim()
    return `- ${name}: ${text.length > maxChars ? `${headOf(text, maxChars)}...` : text}`
  }
  return `${description}\nAgents:\n${spawnable.map(line).join('\n')}`
}

const schemas = new WeakMap<Tool, JsonSchema>()

/** The JSON Schema of a tool's input, as the model gets it. */
function schemaOf(tool: Tool): JsonSchema {
  let schema = schemas.get(tool)
  if (!schema) {
    const { $schema: _, ...rest } = z.toJSONSchema(tool.input, { io: 'input' }) as JsonSchema
    schema = withoutSafeIntegerBounds(rest) as JsonSchema
    schemas.set(tool, schema)
  }
  return schema
}

/** zod bounds every integer by what a double can hold: tokens that say nothing. */
function withoutSafeIntegerBounds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSafeIntegerBounds)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(
    ([key, bound]) => !((key === 'maximum' || key === 'minimum') && Math.abs(bound) === Number.MAX_SAFE_INTEGER),
  )
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutSafeIntegerBounds(inner)]))
}

type ShownTexts = { parameters: Readonly<Record<string, string>>; without?: readonly string[] }

/** A schema with texts for some of its parameters and none for the others. Bounds and defaults are left out: a call that breaks one is told. */
function withTexts(schema: JsonSchema, { parameters, without = [] }: ShownTexts): JsonSchema {
  const { properties } = schemaWithout(schema, new Set(without)) as { properties?: Record<string, JsonSchema> }
  const shown = Object.entries(properties ?? {}).map(([name, { description: _, ...rest }]) => {
    return [name, parameters[name] === undefined ? rest : { ...rest, description: parameters[name] }]
  })
  return { ...schema, properties: Object.fromEntries(shown) }
}

const bounds = new Set(['minLength', 'minimum', 'default'])

function schemaWithout(value: unknown, names: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => schemaWithout(item, names))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([key, inner]) => {
    if (key !== 'properties') return bounds.has(key) ? [] : [[key, schemaWithout(inner, names)]]
    const kept = Object.entries(inner as object).filter(([name]) => !names.has(name))
    return [[key, Object.fromEntries(kept.map(([name, property]) => [name, schemaWithout(property, names)]))]]
  })
  return Object.fromEntries(entries)
}
