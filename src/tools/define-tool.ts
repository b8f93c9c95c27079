import type { z } from 'zod'
import type { SkillDefinition } from '../core/agent.ts'
import type { CallId, SessionId } from '../core/ids.ts'
import type {
  AgentSummary,
  Fence,
  LaunchRequest,
  ProcessOutcome,
  SandboxLeave,
  TranscriptReply,
} from '../core/messages.ts'
import type { Action, AskKind, PermissionRequest } from '../core/permission.ts'
import type { FileTouch, Todo } from '../core/records.ts'
import type { FetchProxies } from '../core/settings.ts'
import type { Workspace } from './workspace.ts'

export type Toolset = 'full' | 'compact'

/** What a tool may use. Everything that leaves the worker thread is in `services`. */
export type ToolContext = {
  session: SessionId
  call: CallId
  depth: number
  toolset: Toolset
  workspace: Workspace
  signal: AbortSignal
  /** Hash that this session knows of a file, by absolute path. */
  files: Readonly<Record<string, string>>
  /** Keeps the content of a file that is about to be written, and names the copy; `undefined`: this turn has one already. */
  keepBefore?(path: string, bytes: Buffer): string | undefined
  todos: readonly Todo[]
  skills: readonly SkillDefinition[]
  /** Absolute path of the project's memory; missing: `.troupe/memory.md` of the workspace. */
  memoryFile?: string
  /** Hosts of private networks that `webfetch` may contact, with a port or without; `*` is any text. */
  fetchHosts?: readonly string[]
  /** Proxies of `webfetch`. */
  fetchProxies?: FetchProxies
  spawnable: readonly AgentSummary[]
  /** The model can look at images. */
  sees?: boolean
  /** Longest output, in characters: the toolset's, or less where the model's context is small. */
  maxChars?: number
  /** The name under which the model sees a canonical tool. */
  nameOf(canonical: string): string
  /** What the permissions say of something further that a call would do; `runTool` puts it there. */
  judge?(request: PermissionRequest): Action
  /** Whether the permissions let this call show what the request names; `runTool` puts it there. */
  mayRead?(request: PermissionRequest): boolean
  /** How much wider the sandbox is for this command; `runTool` puts it there. */
  leave?: SandboxLeave
  services: ToolServices
}

export interface ToolServices {
  /** What speaks against a write to an absolute path: a claim of another job, or of one's own; `undefined`: nothing. */
  claimAgainst(path: string): Promise<string | undefined>
  /** Runs `work` while holding the lock on an absolute path, across all threads. */
  withLock<T>(path: string, work: () => Promise<T>): Promise<T>
  runProcess(request: {
    command: string
    cwd: string
    timeoutMs: number
    splitStderr: boolean
    leave?: SandboxLeave | undefined
    signal: AbortSignal
  }): Promise<ProcessOutcome>
  /** Starts a child. `waiting`: its end answers the call. */
  launch(
    request: Omit<LaunchRequest, keyof Fence | 'lastSeq' | 'call'>,
  ): Promise<{ refused: string } | { waiting: true } | { launched: { alias: string; notes: string[] } }>
  /** Absolute paths of the files that a child has in its context, the newest first. */
  filesOfChild(alias: string): Promise<{ paths: string[] } | { refused: string }>
  sendToChild(request: { alias: string; text: string; interrupt: boolean }): Promise<{ text: string; isError: boolean }>
  /** `'waiting'`: the supervisor answers the call. */
  waitForJobs(request: { jobs: string[]; timeoutMs: number }): Promise<'waiting' | { text: string; isError: boolean }>
  cancelChild(alias: string): Promise<'waiting' | { text: string; isError: boolean }>
  transcript(alias: string): Promise<TranscriptReply>
}

/** What a tool gives back; `runTool` shortens it and makes the call's result. */
export type ToolOutput = {
  output: string
  /** One short line for people. */
  title?: string
  /** The model asked for something impossible; the text says what to do instead. */
  isError?: boolean
  metadata?: Record<string, unknown>
  touched?: FileTouch[]
  todos?: Todo[]
  /** Output that was cut before it reached us: the whole is in this file. */
  spilled?: string
  /** What the model is shown besides. */
  images?: { label: string; mediaType: string; content: Buffer }[]
}

/** What a person is shown before a call acts. `basis` is the hash of what the detail was made from. */
export type Prepared = { kind: AskKind; title: string; detail: string; basis?: string }

export type Tool<Input = unknown> = {
  /** Canonical. */
  name: string
  description: string
  input: z.ZodType<Input>
  /** `write`: may act on the world, runs one after the other, never a second time after a crash. */
  effect: 'read' | 'write'
  /** `undefined`: needs no permission. */
  permission(input: Input, context: ToolContext): PermissionRequest | undefined | Promise<PermissionRequest | undefined>
  /** Which end survives shortening; default both. */
  keep?: 'head' | 'tail' | 'both'
  /** Computes what a person approves. Throws a `RuntimeError` when the call cannot work at all. */
  prepare?(input: Input, context: ToolContext): Promise<Prepared>
  /** `'waiting'`: the supervisor will answer the call. A `RuntimeError` becomes a tool error. */
  run(input: Input, context: ToolContext, approved?: { basis?: string }): Promise<ToolOutput | 'waiting'>
}

/** Declares a tool; no plumbing in it: `runTool` parses, asks, runs, shortens and reports. */
export function defineTool<Schema extends z.ZodType>(
  tool: Omit<Tool<z.output<Schema>>, 'input'> & { input: Schema },
): Tool<z.output<Schema>> {
  return tool as Tool<z.output<Schema>>
}
