import * as z from 'zod'

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String)

/** A regular expression of JavaScript; `(?i)`, `(?m)`, `(?s)` at its start set flags. */
const pattern = z.string().transform((source, context) => {
  const [opening = '', flags = ''] = /^\(\?([ims]+)\)/.exec(source) ?? []
  try {
    return new RegExp(source.slice(opening.length), flags)
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message })
    return z.NEVER
  }
})

const comparison = /^(>=|<=|!=|>|<|=)?\s*(\d+)$/

/** A number must be equal; a string compares: `">=2"`. */
const count = z.union([z.int(), z.string()]).transform((value, context) => {
  if (typeof value === 'number') return { operator: '=', value }
  const parts = comparison.exec(value.trim())
  if (parts) return { operator: parts[1] ?? '=', value: Number(parts[2]) }
  context.addIssue({ code: 'custom', message: `"${value}" is no number and no comparison such as ">=2"` })
  return z.NEVER
})

const when = z
  .strictObject({
    agent: z.string(),
    depth: count,
    turn: count,
    attempt: count,
    purpose: z.enum(['turn', 'compaction']),
    prompt: pattern,
    last: z.string(),
    text: pattern,
    results: count,
    images: count,
    tools: z.union([z.string().transform((name) => [name]), z.array(z.string())]),
  })
  .partial()

const tokens = z.int().min(0)

const usage = z
  .strictObject({ inputTokens: tokens, outputTokens: tokens, input: tokens, output: tokens })
  .partial()
  .transform(({ inputTokens, outputTokens, input, output }) => ({
    inputTokens: inputTokens ?? input,
    outputTokens: outputTokens ?? output,
  }))

const chunks = z.int().min(0)

/** `retryAfter` is in seconds, as the header; `stall`, `cut` and `garbage` count the chunks sent before. */
const fault = z
  .strictObject({
    status: z.int().min(400).max(599),
    message: z.string(),
    retryAfter: z.number().min(0),
    hang: z.boolean(),
    stall: chunks,
    cut: chunks,
    garbage: chunks,
  })
  .partial()
  .refine(
    ({ status, hang, stall, cut, garbage }) => [status, hang, stall, cut, garbage].some((kind) => kind !== undefined),
    {
      message: 'names no fault: status, hang, stall, cut or garbage',
    },
  )

const call = z.strictObject({
  tool: z.string(),
  /** A string is sent as it is, to play a model that breaks its JSON. */
  args: z.union([z.record(z.string(), z.unknown()), z.string()]).default({}),
})

const milliseconds = z.number().min(0)

const reply = z.strictObject({
  text: text.default(''),
  thinking: text.default(''),
  calls: z.array(call).default([]),
  usage: usage.optional(),
  delayMs: milliseconds.default(0),
  chunkMs: milliseconds.default(0),
  finish: z.enum(['stop', 'length']).default('stop'),
  fault: fault.optional(),
})

/** `70B`, `500M` or a number of billions. */
const parameters = z.union([z.number().positive(), z.string()]).transform((value, context) => {
  if (typeof value === 'number') return value
  const parts = /^(\d+(?:\.\d+)?)\s*([BM])$/i.exec(value.trim())
  if (parts) return Number(parts[1]) / (parts[2]?.toUpperCase() === 'M' ? 1000 : 1)
  context.addIssue({ code: 'custom', message: `"${value}" is no number of parameters such as 70B or 500M` })
  return z.NEVER
})

const model = z.strictObject({
  name: z.string().optional(),
  context: z.int().min(1).default(32768),
  parameters: parameters.optional(),
  tools: z.boolean().default(true),
  vision: z.boolean().default(false),
})

/** `parallel: 0` is no limit; 0 elsewhere takes no time. */
const server = z.strictObject({
  parallel: z.int().min(0).default(1),
  loadMs: milliseconds.default(0),
  prefillTps: z.number().min(0).default(0),
  decodeTps: z.number().min(0).default(0),
  holdCalls: z.boolean().default(false),
  enforceNumCtx: z.boolean().default(false),
})

/** A script file, as described in docs/scripted-models.md. */
export const scriptSchema = z.strictObject({
  model: model.default({ context: 32768, tools: true, vision: false }),
  server: server.optional(),
  rules: z.array(
    z.strictObject({
      when: when.nullish().transform((conditions) => conditions ?? {}),
      reply: reply.nullish().transform((value) => value ?? reply.parse({})),
    }),
  ),
})

export type Script = z.output<typeof scriptSchema> & { path: string }
export type ScriptRule = Script['rules'][number]
export type ScriptReply = ScriptRule['reply']
export type ScriptFault = NonNullable<ScriptReply['fault']>
export type ScriptServer = NonNullable<Script['server']>
export type Count = z.output<typeof count>
