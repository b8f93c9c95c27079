import type { AgentDefinition, Diagnostic, SkillDefinition } from './core/agent.ts'
import type { Rule } from './core/permission.ts'
import type { TroupeOptions } from './create-troupe.ts'
import { lintRules } from './definitions/lint-rules.ts'
import { loadAgents } from './definitions/load-agents.ts'
import { loadSkills } from './definitions/load-skills.ts'
import { narrowToReading } from './definitions/narrow-to-reading.ts'
import { parseAgentInput } from './definitions/parse-agent-input.ts'
import { builtinAgentsDir, builtinSkillsDir, userConfigDir } from './definitions/paths.ts'
import { untrustedNote } from './definitions/trust-note.ts'
import type { Configured, RuntimePlace } from './load-settings.ts'

export type Definitions = {
  agents: AgentDefinition[]
  skills: SkillDefinition[]
  diagnostics: Diagnostic[]
  notes: string[]
}

/**
 * Loads agents and skills as they are written. Where agents of the folder will work narrowed to reading, a note says so.
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
  const losing = loaded.agents.map(narrowing(options, trust.trusted)).filter(({ withheld = [] }) => withheld.length > 0)
  const note = untrustedNote({ worktree, unused, narrowed: losing, state: trust })
  return {
    agents: [...loaded.agents, ...(options.agents ?? []).map(parseAgentInput)],
    skills: skills.skills,
    diagnostics: [...loaded.diagnostics, ...skills.diagnostics, ...lintAgents(loaded.agents, settings.rules)],
    notes: note === undefined ? [] : [note],
  }
}

/** How agents may work: where nobody has trusted the folder and nobody can be asked, its own may only read. */
export function narrowing(
  { onAsk, keepAsks }: Pick<TroupeOptions, 'onAsk' | 'keepAsks'>,
  trusted: boolean,
): (agent: AgentDefinition) => AgentDefinition {
  if (trusted || onAsk !== undefined || keepAsks === true) return (agent) => agent
  return (agent) => (agent.source.kind === 'project' ? narrowToReading(agent) : agent)
}

function lintAgents(agents: AgentDefinition[], rules: Rule[]): Diagnostic[] {
  const wider = (['user', 'project'] as const).map((scope) => rules.filter(({ source }) => source === scope))
  return agents.flatMap(({ permission }) => lintRules(permission, wider))
}
