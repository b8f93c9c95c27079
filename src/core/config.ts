import * as z from 'zod'

const action = z.enum(['allow', 'ask', 'deny'])

/** Permission rules as people write them: an action per key, or a map of patterns to actions; the order counts. */
export const permissionConfig = z.record(z.string(), z.union([action, z.record(z.string(), action)]))

const server = z.strictObject({
  url: z
    .url()
    .optional()
    .describe('Address of the server; default for ollama: OLLAMA_HOST, else http://127.0.0.1:11434'),
  slots: z.int().min(1).optional().describe('Requests at the same time; default for ollama: 1'),
  contextTokens: z
    .int()
    .min(1024)
    .optional()
    .describe('Context asked of the server, in tokens; default: min(limit of the model, 16384)'),
  firstByteMs: z.int().min(1).optional().describe('Longest wait for the first byte, in ms; default 900000'),
  silenceMs: z.int().min(1).optional().describe('Longest silence within a reply, in ms; default 600000'),
})

const limits = z.strictObject({
  maxTurns: z.int().min(1).optional().describe('Turns of one session; default 200'),
  timeoutMs: z.int().min(1).optional().describe('Time of one session at work, in ms; default: none'),
  maxTokens: z.int().min(1).optional().describe('Tokens of one session, input and output; default: none'),
  maxChildren: z
    .int()
    .min(1)
    .optional()
    .describe('Children of one session at work at once, further ones wait; default: none'),
  maxChildrenTotal: z.int().min(1).optional().describe('Children of one tree in total; default 1000'),
  maxDepth: z.int().min(0).optional().describe('Deepest level of children'),
  stallMs: z.int().min(1).optional().describe('Silence after which a child counts as stalled, in ms; default: none'),
})

const budget = z.strictObject({
  maxTokens: z.int().min(1).optional().describe('Tokens of a whole run, input and output'),
  maxCost: z.number().positive().optional().describe('Cost of a whole run, where prices are known'),
  maxChildren: z.int().min(1).optional().describe('Children of a whole run'),
  timeoutMs: z.int().min(1).optional().describe('Time of a whole run, in ms'),
})

const price = z.strictObject({
  input: z.number().min(0).describe('Per million tokens of input'),
  output: z.number().min(0).describe('Per million tokens of output'),
})

const webfetch = z.strictObject({
  allowHosts: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Hosts of private networks that webfetch may contact, as host or host:port, * for any text; default: none',
    ),
})

/** `troupe.yaml` of a project and `config.yaml` of the user. Unknown keys are errors. */
export const configSchema = z.strictObject({
  model: z
    .string()
    .optional()
    .describe('provider/name, such as ollama/qwen3:8b; default: the first local model that can call tools'),
  workers: z.int().min(1).max(64).default(2).describe('Worker threads of the pool at most; it begins with one'),
  workerMemoryMb: z
    .int()
    .min(32)
    .max(65536)
    .default(512)
    .describe('Heap of one worker thread, and what it may hold outside of it, in MB'),
  isolatedWorkers: z
    .int()
    .min(1)
    .max(64)
    .default(4)
    .describe('Worker threads besides the pool, each for one session alone'),
  host: z.enum(['threads', 'inline']).default('threads').describe('Where activations run'),
  toolset: z.enum(['auto', 'full', 'compact']).default('auto').describe('Names and texts of the tools'),
  maxDepth: z
    .int()
    .min(0)
    .max(20)
    .optional()
    .describe('Deepest level of children; default 1, or 3 where denyAtDepth is set'),
  denyAtDepth: z
    .array(z.string())
    .optional()
    .describe('Tools (wildcards) that no child gets; default: the task family and todo tools, at the deepest level'),
  permission: permissionConfig.default({}).describe('Rules, last match wins'),
  sandbox: z
    .enum(['off', 'read-only', 'workspace-write'])
    .default('off')
    .describe('What commands may write, on Linux with bubblewrap'),
  network: z.enum(['off', 'on']).default('off').describe('Whether commands in the sandbox reach the network'),
  sandboxedCommands: z
    .enum(['ask', 'allow'])
    .default('ask')
    .describe('Whether commands that stay inside the sandbox run without a question'),
  askTimeoutMs: z
    .int()
    .min(1000)
    .optional()
    .describe('Time after which a question that nobody answers is denied, in ms; default: none'),
  limits: limits.default({}).describe('Bounds of each session'),
  budget: budget.default({}).describe('Bounds of a whole run'),
  prices: z.record(z.string(), price).default({}).describe('Prices by model (provider/name)'),
  webfetch: webfetch.default({}).describe('The tool webfetch'),
  servers: z.record(z.string(), server).default({}).describe('Model servers by provider name'),
})

export type Config = z.infer<typeof configSchema>
