import type { AgentDefinition } from './core/agent.ts'
import { RuntimeError } from './core/errors.ts'
import type { Action, AgentLevel, JudgedUnit, PermissionRequest, Rule } from './core/permission.ts'
import { agentMayLoosen, type RunSettings } from './core/settings.ts'
import { createDecider } from './permissions/decide.ts'
import { permissionKeys, plainKey } from './permissions/keys.ts'
import { loadShellParser } from './permissions/shell/load-shell-parser.ts'
import type { StoredAnswer, StoredAnswers } from './store/stored-answers.ts'
import { createWorkspace } from './tools/workspace.ts'

/** What would be said of a call: `text` is a command, or under another `key` a path, an address, a name. */
export type PermissionQuestion = { text: string; key?: string; agent?: string; depth?: number }

/** `units`: all that was judged, in order. `always`: what that answer would store. */
export type Explained = {
  decision: Action
  reason: string
  units: JudgedUnit[]
  always?: Pick<Rule, 'key' | 'pattern'>
}

/** The rules of a runtime, for people. */
export type PermissionsView = {
  /** Defaults, configuration and flags, the widest scope first; what agents say of themselves stands in `agents`. */
  readonly rules: Rule[]
  /** What was answered "always" for this project, in that order. */
  answers(): StoredAnswer[]
  /** Throws `storage-failed`. Runs at work see it with their next question. */
  remove(answers: StoredAnswer[]): void
  /**
   * The very judgement of a run, without doing anything; by default of the root's agent `lead`. An agent at a depth stands
   * below `lead`. Rejects with `bad-usage` for a key that there is none of, `unknown-agent`.
   */
  explain(question: PermissionQuestion): Promise<Explained>
}

export type PermissionsViewOptions = {
  settings: RunSettings
  dir: string
  answers: StoredAnswers
  agentNamed(name: string): AgentDefinition
}

export function createPermissionsView({ settings, dir, answers, agentNamed }: PermissionsViewOptions): PermissionsView {
  return {
    rules: settings.rules,
    answers: () => answers.list(),
    remove: (given) => answers.remove(given),
    async explain({ text, key: name = 'bash', agent = 'lead', depth = 0 }) {
      const key = plainKey(name)
      if (key === undefined) throw noKey(name)
      const own = agentNamed(agent)
      if (key === 'bash') await loadShellParser()
      const decide = createDecider({
        settings,
        above: depth === 0 ? [] : [levelOf(agentNamed('lead'), settings)],
        agentRules: own.permission,
        agentMayLoosen: agentMayLoosen(own, settings),
        grants: answers.list().map(({ rule }) => rule),
        dir,
      })
      return explained(() => decide(requestFor(key, text, dir)))
    },
  }
}

function explained(decide: () => ReturnType<ReturnType<typeof createDecider>>): Explained {
  try {
    const { action, reason, units = [], grant } = decide()
    return { decision: action, reason, units, ...(grant && { always: { key: grant.key, pattern: grant.pattern } }) }
  } catch (thrown) {
    // A path that no tool opens, such as a device.
    if (thrown instanceof RuntimeError) return { decision: 'deny', reason: thrown.message, units: [] }
    throw thrown
  }
}

function noKey(name: string): RuntimeError {
  return new RuntimeError('bad-usage', `There is no permission key "${name}". Keys are ${permissionKeys.join(', ')}.`)
}

function levelOf(agent: AgentDefinition, settings: RunSettings): AgentLevel {
  return { rules: agent.permission, mayLoosen: agentMayLoosen(agent, settings) }
}

/** As the tools ask: paths relative to the workspace, links followed. */
function requestFor(key: string, text: string, dir: string): PermissionRequest {
  if (key === 'webfetch') return { key, pattern: URL.canParse(text) ? new URL(text).href : text }
  if (key === 'external_directory') return { key, pattern: createWorkspace(dir).resolve(text).path }
  if (key !== 'read' && key !== 'edit' && key !== 'claim') return { key, pattern: text }
  const file = createWorkspace(dir).resolve(text)
  return { key, pattern: file.relative, ...(file.outside && { outside: file.path }) }
}
