import { existsSync, realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Observable } from 'rxjs'
import type { AgentDefinition, AgentLimits, Diagnostic, SkillDefinition } from './core/agent.ts'
import { systemClock } from './core/clock.ts'
import type { Config } from './core/config.ts'
import { RuntimeError } from './core/errors.ts'
import type { PermissionAsk, RuntimeEvent } from './core/events.ts'
import type { AskId } from './core/ids.ts'
import { parseSessionId } from './core/ids.ts'
import type { JsonSchema, ToolSpec } from './core/model.ts'
import type { AskAnswer, PermissionMode } from './core/permission.ts'
import { createMemoryLoader } from './definitions/load-memory.ts'
import type { AgentInput } from './definitions/parse-agent-input.ts'
import { findWorktree } from './definitions/paths.ts'
import { spawnableFor } from './definitions/spawnable.ts'
import { createPermissionsView, type PermissionsView } from './explain-permissions.ts'
import type { JobRow } from './jobboard/create-board.ts'
import { loadDefinitions, narrowing } from './load-definitions.ts'
import { loadSettings, type RuntimePlace } from './load-settings.ts'
import { createModelCache, modelQuestion } from './model-cache.ts'
import { chooseModel } from './models/choose-model.ts'
import { prepareSandbox } from './prepare-sandbox.ts'
import { createStore } from './store/create-store.ts'
import { dataDir as defaultDataDir } from './store/data-dir.ts'
import { createStoredAnswers } from './store/stored-answers.ts'
import type { Decided } from './supervisor/asks.ts'
import { createSupervisor, type Run } from './supervisor/create-supervisor.ts'
import { createRegistry } from './tools/registry.ts'
import { chooseToolset } from './tools/toolsets.ts'
import { createInlineHost } from './workers/inline-host.ts'
import { createThreadHost } from './workers/thread-host.ts'

/** What a runtime is made from. Everything has a default; configuration files count below what is given here. */
export type TroupeOptions = {
  /** The workspace; default: the current folder. */
  dir?: string
  /** Where journals are kept; default: `TROUPE_HOME`, else the XDG state folder. */
  dataDir?: string
  /** `provider/name` or `scripted:FILE`; default: configuration, else the first local model that can call tools. */
  model?: string
  /** Agents besides those of Markdown files; the same name replaces. */
  agents?: AgentInput[]
  /** Counts over configuration files, key by key. */
  config?: Partial<Config>
  host?: 'threads' | 'inline'
  /** Worker threads; default 2. */
  workers?: number
  /** How questions are decided; default `ask`. */
  permission?: PermissionMode
  /** Rules as `KEY:PATTERN`. */
  allow?: string[]
  deny?: string[]
  /** Use the project's own configuration even if its folder is not trusted. */
  trust?: boolean
  /** Answers permission questions. Missing: they are denied at once, but for `keepAsks`. */
  onAsk?: (ask: PermissionAsk) => Promise<AskAnswer>
  /** Without `onAsk`: questions wait for `answer`, however long it takes. */
  keepAsks?: boolean
  /** Default: `process.env`. */
  env?: NodeJS.ProcessEnv
}

/** What one run is asked to do. */
export type RunOptions = {
  prompt: string
  /** Default: `lead`. */
  agent?: string
  /** A root session to continue, or the id of a new one. */
  session?: string
  maxTurns?: number
  timeoutMs?: number
  /** The last answer is asked to be JSON of this schema; checking it is the caller's. */
  outputSchema?: JsonSchema
}

/** A runtime. It installs no signal handlers, never ends the process, writes nothing to the terminal. Close it. */
export interface Troupe {
  /** `slots` null: any number of requests at once. `note`: what a person should know of how it was chosen. */
  readonly model: { ref: string; contextTokens: number; slots: number | null; note?: string }
  readonly dir: string
  readonly agents: AgentDefinition[]
  readonly skills: SkillDefinition[]
  readonly diagnostics: Diagnostic[]
  /** One line each, such as that an untrusted project's configuration was left out. */
  readonly notes: string[]
  readonly events: Observable<RuntimeEvent>
  run(options: RunOptions): Run
  /** Goes on with a session: what was open in it, then the prompt. */
  resume(session: string, prompt?: string, bounds?: Pick<RunOptions, 'maxTurns' | 'timeoutMs'>): Run
  /** Lets a foreground job (its session's id) go on in the background; false when there is no such job. */
  moveToBackground(job: string): boolean
  asks(): PermissionAsk[]
  /** `gone`: it was answered already, or withdrawn; `decided` tells which. Throws `bad-answer`. */
  answer(id: AskId, answer: AskAnswer): 'accepted' | 'gone'
  /** How a question of a run that is not over was decided; `undefined`: it is open, or unknown. */
  decided(id: AskId): Decided | undefined
  jobs(root?: string): JobRow[]
  /** The rules in force and the stored answers, and what they come to. */
  readonly permissions: PermissionsView
  /** The tools that an agent would see at a depth. */
  tools(agent: string, depth: number): ToolSpec[]
  close(): Promise<void>
}

/** Loads configuration, agents and skills, finds a model, and makes a runtime. Throws `RuntimeError`s that name the remedy. */
export function createTroupe(options: TroupeOptions = {}): Promise<Troupe> {
  return assembleTroupe(options, {})
}

/** The same with parts replaced: for tests. */
export async function assembleTroupe(options: TroupeOptions, parts: { workerFile?: string }): Promise<Troupe> {
  const env = options.env ?? process.env
  const dir = workspaceDir(options.dir)
  const dataDir = options.dataDir ? resolve(options.dataDir) : defaultDataDir(env)
  const worktree = findWorktree(dir)
  const place: RuntimePlace = { options, env, dir, dataDir, worktree }
  const configured = await loadSettings(place)
  const { config } = configured
  const confined = await prepareSandbox(config)
  const settings = { ...configured.settings, ...confined.settings }
  const damages: Damage[] = []
  let report = (damage: Damage): void => void damages.push(damage)
  const store = createStore({ dataDir, clock: systemClock, onDamage: (damage) => report(damage) })
  const agents = new Map<string, AgentDefinition>()
  const asWorking = narrowing(options, settings.projectTrusted)
  const skills: SkillDefinition[] = []
  const models = createModelCache(config, env)
  let modelOverride: string | undefined
  const answers = createStoredAnswers(dataDir, worktree)
  const supervisor = createSupervisor({
    store,
    clock: systemClock,
    settings,
    agents,
    asWorking,
    skills,
    loadMemory: createMemoryLoader(),
    readyModel: models.find,
    get modelOverride() {
      return modelOverride
    },
    permissionMode: settings.permissionMode,
    ...(options.keepAsks && { keepAsks: true }),
    ...(config.askTimeoutMs !== undefined && { askTimeoutMs: config.askTimeoutMs }),
    answers,
    ...(options.onAsk && { onAsk: options.onAsk }),
    ...(confined.sandbox && { sandbox: confined.sandbox }),
    createHost(wanted) {
      if ((options.host ?? config.host) === 'inline') return createInlineHost(wanted)
      return createThreadHost({
        ...wanted,
        ...parts,
        threads: options.workers ?? config.workers,
        aloneThreads: config.isolatedWorkers,
        memoryMb: config.workerMemoryMb,
      })
    },
  })

  async function close(): Promise<void> {
    await supervisor.close()
    await store.close()
  }

  /** The first thread starts while agents and model are looked up. */
  async function complete() {
    supervisor.warm()
    const ref = options.model ?? config.model
    const [found, chosen] = await Promise.all([
      loadDefinitions(place, configured),
      chooseModel(modelQuestion(ref, config, env)),
    ])
    for (const agent of found.agents) agents.set(agent.name, agent)
    skills.push(...found.skills)
    models.add(chosen)
    if (options.model) modelOverride = chosen.spec.profile.ref
    return { chosen, notes: found.notes, diagnostics: [...configured.diagnostics, ...found.diagnostics] }
  }

  const { chosen, diagnostics, notes } = await complete().catch(async (thrown) => {
    await close()
    throw thrown
  })
  report = supervisor.reportDamage
  for (const damage of damages) report(damage)

  function agentNamed(name: string): AgentDefinition {
    const agent = agents.get(name)
    if (agent) return agent
    const names = [...agents.keys()].join(', ')
    throw new RuntimeError('unknown-agent', `There is no agent "${name}". There are: ${names}.`)
  }

  return {
    model: {
      ref: chosen.spec.profile.ref,
      contextTokens: chosen.spec.profile.contextTokens,
      slots: chosen.slots,
      ...(chosen.note && { note: chosen.note }),
    },
    dir,
    agents: [...agents.values()],
    skills,
    diagnostics,
    notes: [...notes, ...confined.notes],
    events: supervisor.events$,
    run({ agent = 'lead', session, maxTurns, timeoutMs, ...asked }) {
      const limits = boundsOf({ maxTurns, timeoutMs })
      const found = agentNamed(agent)
      return supervisor.run({
        prompt: promptOf(asked),
        agent: found,
        model: refFor(asWorking(found)),
        dir,
        limits,
        ...(session !== undefined && { session }),
      })
    },
    resume(session, prompt, bounds = {}) {
      const known = store.findRoot(parseSessionId(session))
      if (!known)
        throw new RuntimeError('unknown-session', `There is no session ${session}. List them: troupe sessions`)
      return supervisor.run({
        ...(prompt && { prompt }),
        limits: boundsOf(bounds),
        agent: agentNamed('lead'),
        model: chosen.spec.profile.ref,
        dir,
        session,
      })
    },
    moveToBackground: supervisor.moveToBackground,
    asks: supervisor.asks,
    answer: supervisor.answer,
    decided: supervisor.decided,
    jobs: (root) => supervisor.board.rows(root === undefined ? undefined : parseSessionId(root)),
    permissions: createPermissionsView({ settings, dir, answers, agentNamed }),
    tools(name, depth) {
      const agent = agentNamed(name)
      const toolset = chooseToolset(agent.toolset, settings.toolset, chosen.spec.profile.parameters)
      const spawnable = spawnableFor(agent, [...agents.values()])
      return createRegistry({ agent, depth, settings, toolset, spawnable, skills }).specs()
    },
    close,
  }

  function refFor(agent: AgentDefinition): string {
    return options.model ? chosen.spec.profile.ref : (agent.model ?? chosen.spec.profile.ref)
  }
}

function boundsOf({ maxTurns, timeoutMs }: Pick<RunOptions, 'maxTurns' | 'timeoutMs'>): AgentLimits {
  return { ...(maxTurns && { maxTurns }), ...(timeoutMs && { timeoutMs }) }
}

function promptOf({ prompt, outputSchema }: Pick<RunOptions, 'prompt' | 'outputSchema'>): string {
  if (!outputSchema) return prompt
  return `${prompt}\n\nYour last message must be JSON alone, without any other text, valid for this JSON Schema:\n${JSON.stringify(outputSchema)}`
}

type Damage = { path: string; message: string }

function workspaceDir(dir = process.cwd()): string {
  if (dir === '')
    throw new RuntimeError('bad-usage', 'The name of the folder is empty. Give an existing one with --dir.')
  const path = resolve(dir)
  if (!existsSync(path) || !statSync(path).isDirectory()) {
    throw new RuntimeError('bad-usage', `There is no folder ${path}. Give an existing one with --dir.`)
  }
  return realpathSync(path)
}
