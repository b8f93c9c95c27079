import * as z from 'zod'
import { refuse } from './definition-error.ts'
import type { Field } from './parse-frontmatter.ts'
import { toPlain } from './parse-yaml.ts'

const numeric = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/)
    .transform(Number),
])
const count = numeric.pipe(z.int().min(1))
const flag = z.union([
  z.boolean(),
  z.enum(['true', 'yes', 'on']).transform(() => true),
  z.enum(['false', 'no', 'off']).transform(() => false),
])
const names = z.union([
  z.string().transform((text) =>
    text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  ),
  z.array(z.coerce.string()),
])
const restartKind = z.enum(['permanent', 'transient', 'temporary'])

const limits = {
  maxTurns: count,
  maxTokens: count,
  timeoutMs: count,
  maxChildren: count,
  maxChildrenTotal: count,
  maxDepth: numeric.pipe(z.int().min(0)),
  stallMs: count,
}

/** The fields of an agent that are neither text nor access, each optional, by our names. */
const agentShape = z
  .object({
    mode: z.enum(['primary', 'subagent', 'all']),
    model: z.string().nullable(),
    toolset: z.enum(['auto', 'full', 'compact']),
    think: z.union([flag, z.enum(['low', 'medium', 'high'])]),
    options: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
    temperature: numeric.pipe(z.number().min(0).max(2)),
    topP: numeric.pipe(z.number().min(0).max(1)),
    spawns: names,
    restart: z.union([
      restartKind.transform((restart) => ({ restart })),
      z.strictObject({ restart: restartKind, maxRestarts: z.int().min(0), periodMs: z.int().min(1) }).partial(),
    ]),
    isolation: z.enum(['thread', 'worktree']),
    disable: flag,
    disableModelInvocation: flag,
    userInvocable: flag,
    hidden: flag,
    limits: z.strictObject(limits).partial(),
    ...limits,
  })
  .partial()

/** The values of an agent's fields, checked. */
export type AgentShape = z.infer<typeof agentShape>

const shapedKeys = new Set(Object.keys(agentShape.shape))

/** Checks the fields of an agent. Throws for the first one that is wrong, with its line. */
export function parseAgentShape(fields: Map<string, Field>): AgentShape {
  const values: Record<string, unknown> = {}
  for (const [key, { value }] of fields) if (shapedKeys.has(key)) values[key] = toPlain(value)
  const parsed = agentShape.safeParse(values)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  const field = fields.get(String(issue.path[0]))
  const at = [field?.written ?? '', ...issue.path.slice(1)].join('.')
  return refuse(`"${at}" is wrong: ${issueText(issue)}; it is ${shown(field?.value)}.`, field?.line)
}

function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_union') return lowerFirst(issue.message)
  const texts = issue.errors.map((branch) => lowerFirst(branch[0]?.message ?? ''))
  return [...new Set(texts)].join(', or ')
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}

function shown(value: unknown): string {
  const text = JSON.stringify(toPlain(value)) ?? 'missing'
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
