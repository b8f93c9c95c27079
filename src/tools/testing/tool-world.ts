import { execFile } from 'node:child_process'
import { lstat, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { AgentDefinition, SkillDefinition } from '../../core/agent.ts'
import { callId, type SessionId } from '../../core/ids.ts'
import type { AgentSummary } from '../../core/messages.ts'
import type { PermissionRequest } from '../../core/permission.ts'
import type { CallResult, FileTouch, Todo } from '../../core/records.ts'
import type { FetchProxies } from '../../core/settings.ts'
import type { OpenAsk } from '../../core/state.ts'
import type { Decision } from '../../permissions/decide.ts'
import type { Tool, ToolServices, Toolset } from '../define-tool.ts'
import { createRegistry } from '../registry.ts'
import { runTool, type ToolOutcome } from '../run-tool.ts'
import { createWorkspace, type Workspace } from '../workspace.ts'

export type ToolWorld = {
  /** Real path of a fresh folder, the session's workspace. */
  dir: string
  workspace: Workspace
  /** Folder for spilled output, beside the workspace. */
  outputDir: string
  /** What the session knows of files; `call` keeps it up as the fold does. */
  files: Record<string, string>
  /** Requests that were put to the permissions, in order. */
  asked: PermissionRequest[]
  /** Calls whose `onStart` ran. */
  started: string[]
  write(path: string, content: string | Uint8Array): Promise<void>
  text(path: string): Promise<string>
  bytes(path: string): Promise<Buffer>
  exists(path: string): Promise<boolean>
  run(command: string): Promise<string>
  /** Runs a call as the worker does. */
  call(tool: string, args: Record<string, unknown>, options?: CallOptions): Promise<ToolOutcome>
  /** The result of a call that must finish. */
  result(tool: string, args: Record<string, unknown>, options?: CallOptions): Promise<CallResult>
}

export type CallOptions = {
  toolset?: Toolset
  decide?: (request: PermissionRequest) => Decision
  answered?: OpenAsk
  invalid?: string
  signal?: AbortSignal
  depth?: number
  agent?: Partial<Pick<AgentDefinition, 'tools' | 'permission' | 'denyAtDepth'>>
  services?: Partial<ToolServices>
  skills?: SkillDefinition[]
  spawnable?: AgentSummary[]
  todos?: Todo[]
  tools?: readonly Tool[]
  files?: Record<string, string>
  fetchHosts?: string[]
  fetchProxies?: FetchProxies
  onStart?: () => Promise<void>
}

export const allowAll = (): Decision => ({ action: 'allow', reason: 'allowed by the test' })

/** A workspace in a temporary folder, with real locks; `removeToolWorlds` deletes all. */
export async function createToolWorld(): Promise<ToolWorld> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'troupe-tools-')))
  bases.push(base)
  const dir = join(base, 'ws')
  await mkdir(dir)
  const withLock = createLocks()
  const at = (path: string) => join(dir, path)
  let calls = 0
  const world: ToolWorld = {
    dir,
    workspace: createWorkspace(dir),
    outputDir: join(base, 'tool-output'),
    files: {},
    asked: [],
    started: [],
    async write(path, content) {
      await mkdir(dirname(at(path)), { recursive: true })
      await writeFile(at(path), content)
    },
    text: (path) => readFile(at(path), 'utf8'),
    bytes: (path) => readFile(at(path)),
    exists: (path) => lstat(at(path)).then(Boolean, () => false),
    run: async (command) => (await promisify(execFile)('sh', ['-c', command], { cwd: dir })).stdout,
    async call(tool, args, options = {}) {
      const id = callId(1, ++calls)
      const { toolset = 'full', depth = 0, skills = [], spawnable = [], decide = allowAll } = options
      const registry = createRegistry({
        agent: { tools: [], permission: [], ...options.agent },
        depth,
        settings: { maxDepth: 1, rules: [] },
        toolset,
        spawnable,
        tools: options.tools,
      })
      const outcome = await runTool({
        call: { id, tool, args, invalid: options.invalid },
        registry,
        context: {
          session: 'session-1' as SessionId,
          call: id,
          depth,
          toolset,
          workspace: world.workspace,
          signal: options.signal ?? new AbortController().signal,
          files: options.files ?? { ...world.files },
          todos: options.todos ?? [],
          skills,
          spawnable,
          fetchHosts: options.fetchHosts ?? [],
          fetchProxies: options.fetchProxies ?? {},
          nameOf: registry.nameOf,
          services: { ...refusingServices, withLock, ...options.services },
        },
        decide(request) {
          world.asked.push(request)
          return decide(request)
        },
        answered: options.answered,
        async onStart() {
          world.started.push(id)
          await options.onStart?.()
        },
        outputDir: world.outputDir,
      })
      if (outcome.type === 'finished') note(world.files, outcome.result.touched)
      return outcome
    },
    async result(tool, args, options) {
      const outcome = await world.call(tool, args, options)
      if (outcome.type !== 'finished') throw new Error(`the call did not finish: ${JSON.stringify(outcome)}`)
      return outcome.result
    },
  }
  return world
}

const bases: string[] = []

export async function removeToolWorlds(): Promise<void> {
  await Promise.all(bases.splice(0).map((base) => rm(base, { recursive: true, force: true })))
}

function note(files: Record<string, string>, touched: FileTouch[] | undefined): void {
  for (const { path, hash } of touched ?? []) files[path] = hash
}

const noChildren = { text: 'no children in this test', isError: true }

const refusingServices: ToolServices = {
  claimAgainst: async () => undefined,
  withLock: (_, work) => work(),
  runProcess: () => Promise.reject(new Error('no processes in this test')),
  launch: async () => ({ refused: 'no children in this test' }),
  sendToChild: async () => noChildren,
  waitForJobs: async () => noChildren,
  cancelChild: async () => noChildren,
  filesOfChild: async () => ({ refused: noChildren.text }),
  transcript: async () => ({ refused: noChildren.text }),
}

/** One holder per path, first come, first served. */
function createLocks(): ToolServices['withLock'] {
  const tails = new Map<string, Promise<unknown>>()
  return (path, work) => {
    const turn = (tails.get(path) ?? Promise.resolve()).then(work)
    tails.set(
      path,
      turn.catch(() => undefined),
    )
    return turn
  }
}
