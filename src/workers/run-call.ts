import { join } from 'node:path'
import { roomForResults, roomForText, shareOfRoom } from '../core/context-room.ts'
import { askId, type CallId } from '../core/ids.ts'
import type { RecordBody } from '../core/records.ts'
import { agentMayLoosen } from '../core/settings.ts'
import type { OpenCall, SessionState } from '../core/state.ts'
import { createDecider } from '../permissions/decide.ts'
import { bytesToKeep } from '../tools/bash-text.ts'
import type { ToolContext, ToolServices } from '../tools/define-tool.ts'
import { runTool } from '../tools/run-tool.ts'
import { keepSnapshot } from '../tools/snapshots.ts'
import { toolEnvironment } from '../tools/tool-environment.ts'
import { toolsets } from '../tools/toolsets.ts'
import { createWorkspace, type Workspace } from '../tools/workspace.ts'
import { abortable } from './abortable.ts'
import { budgetOf } from './context-budget.ts'
import type { Activation } from './run-activation.ts'

export type CallRunner = {
  readonly running: { has(call: CallId): boolean }
  /** Starts calls side by side; `task` calls one after the other, so that aliases follow call order. */
  start(calls: OpenCall[]): void
  /** Throws what a call failed with, if it was no tool's failure. */
  rethrow(): void
  /** Resolves when no call runs any more. */
  settled(): Promise<void>
}

export type FinishedCall = Extract<RecordBody, { type: 'call.finished' }>

export type CallEnds = {
  /** Journals the result of a call. */
  finish(record: FinishedCall): Promise<void>
  /** What to do next may have changed: a call that others waited for runs no longer, or the last one. */
  notify(what: 'call'): void
}

/** Runs the calls of one activation; each end is journaled. */
export function createCallRunner(activation: Activation, { finish, notify }: CallEnds): CallRunner {
  const running = new Map<CallId, Promise<void>>()
  const failures: unknown[] = []
  const workspace = createWorkspace(activation.seed.dir)
  const decide = createDecide(activation, workspace)
  let launches = Promise.resolve()
  const isWriting = ({ tool }: OpenCall) => activation.registry.find(tool)?.effect === 'write'

  function begin(call: OpenCall): Promise<void> {
    const run = () => runCall(activation, call, { workspace, decide, finish })
    if (call.tool !== 'task') return run()
    launches = launches.then(run, run)
    return launches
  }

  return {
    running,
    start(calls) {
      for (const call of calls) {
        const done = begin(call)
          .catch((thrown) => {
            failures.push(thrown)
          })
          .finally(() => {
            running.delete(call.id)
            if (running.size === 0 || failures.length > 0 || isWriting(call)) notify('call')
          })
        running.set(call.id, done)
      }
    },
    rethrow() {
      if (failures.length > 0) throw failures[0]
    },
    settled: async () => {
      await Promise.all(running.values())
    },
  }
}

type CallTools = Pick<CallEnds, 'finish'> & { workspace: Workspace; decide: ReturnType<typeof createDecide> }

async function runCall(activation: Activation, call: OpenCall, tools: CallTools): Promise<void> {
  const { task, append, emit, registry } = activation
  const { workspace, decide, finish } = tools
  const startedAt = performance.now()
  const { state } = task
  const { id, tool, args, invalid } = call
  emit({ type: 'tool.started', callId: id, tool, title: titleOf(args) })
  const outcome = await runTool({
    call: { id, tool, args, ...(invalid !== undefined && { invalid }) },
    registry,
    context: toolContext(activation, call, workspace),
    decide,
    ...(call.ask?.answer && { answered: call.ask }),
    onStart: async () => {
      if (!call.started) await append([{ type: 'call.started', call: id }], { sync: true })
    },
    outputDir: task.outputDir,
  })
  if (outcome.type === 'waiting') return
  if (outcome.type === 'finished') {
    const durationMs = Math.round(performance.now() - startedAt)
    return finish({ type: 'call.finished', call: id, result: outcome.result, durationMs })
  }
  await append([{ type: 'ask.requested', id: askId(task.session, id, state.generation), call: id, ...outcome.ask }])
}

function createDecide({ task, seed }: Activation, workspace: Workspace) {
  const { permissionMode, rules, sandbox } = task.settings
  return createDecider({
    // In mode `deny` the supervisor answers each ask at once, as it does when nobody is there.
    settings: {
      permissionMode: permissionMode === 'deny' ? 'ask' : permissionMode,
      rules,
      ...(sandbox && { sandbox }),
    },
    agentRules: seed.agent.permission,
    above: task.above,
    agentMayLoosen: agentMayLoosen(seed.agent, task.settings),
    grants: task.grants,
    dir: workspace.dir,
  })
}

function toolContext(activation: Activation, call: OpenCall, workspace: Workspace): ToolContext {
  const { task, seed, link, registry } = activation
  return {
    session: task.session,
    call: call.id,
    depth: seed.depth,
    toolset: registry.toolset,
    workspace,
    signal: link.signal,
    files: task.state.files,
    keepBefore: (path, bytes) => (wroteInTurn(task.state, path) ? undefined : keepSnapshot(task.snapshotDir, bytes)),
    todos: task.state.todos,
    skills: task.skills,
    fetchHosts: task.settings.fetchHosts ?? [],
    fetchProxies: task.settings.fetchProxies ?? {},
    ...(task.memory && { memoryFile: task.memory.file }),
    spawnable: task.spawnable,
    sees: task.model.profile.vision ?? false,
    maxChars: roomForOutput(activation),
    nameOf: registry.nameOf,
    services: createServices(activation, call),
  }
}

/** Results of one message's calls are placed together, so they share the room. */
function roomForOutput(activation: Activation): number {
  const { task, registry } = activation
  const { contextTokens } = task.model.profile
  const most = roomForText(contextTokens, toolsets[registry.toolset].maxChars)
  const room = roomForResults(contextTokens, budgetOf(activation))
  return Math.min(most, shareOfRoom(room, task.state.calls.length))
}

/** The calls of the state are those of the present turn. */
function wroteInTurn({ calls }: SessionState, path: string): boolean {
  return calls.some(({ result }) => result?.touched?.some((touch) => touch.kind === 'write' && touch.path === path))
}

function createServices(activation: Activation, call: OpenCall): ToolServices {
  const { task, fence, link, absorb, registry } = activation
  const { api } = link
  return {
    claimAgainst: (path) => api.claimAgainst({ ...fence, path }),
    async withLock(path, work) {
      await abortable(api.lock({ ...fence, path }), link.signal)
      try {
        return await work()
      } finally {
        await api.unlock({ ...fence, path })
      }
    },
    async runProcess({ signal, ...command }) {
      const cancel = () => void api.killProcess({ ...fence, call: call.id }).catch(() => undefined)
      signal.addEventListener('abort', cancel, { once: true })
      try {
        const env = { ...toolEnvironment(), PWD: command.cwd }
        const spillPath = join(task.outputDir, `${call.id}.txt`)
        const keepBytes = bytesToKeep(registry.toolset)
        return await api.runProcess({ ...fence, call: call.id, ...command, env, keepBytes, spillPath })
      } finally {
        signal.removeEventListener('abort', cancel)
      }
    },
    async launch(request) {
      const reply = await api.launch({ ...fence, lastSeq: task.state.lastSeq, call: call.id, ...request })
      absorb(reply)
      if (reply.refused !== undefined) return { refused: reply.refused }
      return request.background
        ? { launched: { alias: reply.alias ?? '', notes: reply.notes ?? [] } }
        : { waiting: true }
    },
    sendToChild: (request) => api.sendToChild({ ...fence, ...request }),
    async waitForJobs(request) {
      const reply = await api.waitForJobs({ ...fence, lastSeq: task.state.lastSeq, call: call.id, ...request })
      absorb(reply)
      return reply.answer ?? 'waiting'
    },
    async cancelChild(alias) {
      const reply = await api.cancelChild({ ...fence, lastSeq: task.state.lastSeq, call: call.id, alias })
      absorb(reply)
      return reply.answer ?? 'waiting'
    },
    filesOfChild: (alias) => api.filesOfChild({ ...fence, alias }),
    transcript: (alias) => api.transcript({ ...fence, alias }),
  }
}

function titleOf(args: Record<string, unknown>): string {
  const first = ['description', 'command', 'file_path', 'pattern', 'path', 'prompt', 'name', 'url'].find(
    (key) => typeof args[key] === 'string',
  )
  const text = first ? String(args[first]).replace(/\s+/g, ' ') : ''
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}
