import type { AgentDefinition, Diagnostic, SkillDefinition } from './core/agent.ts'
import type { Rule } from './core/permission.ts'
import { lintRules } from './definitions/lint-rules.ts'
import { loadAgents } from './definitions/load-agents.ts'
import { loadSkills } from './definitions/load-skills.ts'
import { narrowToReading } from './definitions/narrow-to-reading.ts'
import { parseAgentInput } from './definitions/parse-agent-input.ts'
import { builtinAgentsDir, builtinSkillsDir, userConfigDir } from './definitions/paths.ts'
import { untrustedNote } from './definitions/trust-note.ts'
import type { Configured, RuntimePlace } from './load-settings.ts'

export type Definitions = {
  /** As they are written. */
  agents: AgentDefinition[]
  /** As they may work in this run. */
  working: AgentDefinition[]
  skills: SkillDefinition[]
  diagnostics: Diagnostic[]
  notes: string[]
}

/**
 * Loads agents and skills. Where nobody has trusted the folder and nobody can be asked, the folder's own agents work
 * narrowed to reading, and a note says so.
 */
export async function loadDefinitions(
  { options, env, dir, worktree }: RuntimePlace,
  { settings, trust, unused }: Configured,
): Promise<Definitions> {
  const where = { dir, worktree, userConfigDir: userConfigDir(env) }
  const [loaded, skills] = await Promise.all([
    loadAgents({ ...where, builtinDir: builtinAgentsDir() }),
    loadSkills({ ...where, builtinDir: builtinSkillsDir() }),
  ])
  const isHeadless = options.onAsk === undefined && options.keepAsks !== true
  const isNarrowed = ({ source }: AgentDefinition) => source.kind === 'project' && isHeadless && !trust.trusted
  const ofCode = (options.agents ?? []).map(parseAgentInput)
  const narrowed = loaded.agents.map((agent) => (isNarrowed(agent) ? narrowToReading(agent) : agent))
  const losing = narrowed.filter(({ withheld }) => withheld !== undefined && withheld.length > 0)
  const note = untrustedNote({ worktree, unused, narrowed: losing, state: trust })
  return {
    agents: [...loaded.agents, ...ofCode],
    working: [...narrowed, ...ofCode],
    skills: skills.skills,
    diagnostics: [...loaded.diagnostics, ...skills.diagnostics, ...lintAgents(loaded.agents, settings.rules)],
    notes: note === undefined ? [] : [note],
  }
}

function lintAgents(agents: AgentDefinition[], rules: Rule[]): Diagnostic[] {
  const wider = (['user', 'project'] as const).map((scope) => rules.filter(({ source }) => source === scope))
  return agents.flatMap(({ permission }) => lintRules(permission, wider))
}
