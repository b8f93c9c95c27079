import type { SkillDefinition } from '../core/agent.ts'
import type { SessionSeed } from '../core/records.ts'

/** The system prompt: the agent's text, where it works, its skills. Byte-stable for the life of a session. */
export function buildSystem(seed: SessionSeed, skills: readonly SkillDefinition[], canUseSkills: boolean): string {
  const parts = [seed.agent.prompt.trim(), surroundings(seed)]
  if (canUseSkills && skills.length > 0) parts.push(skillList(skills))
  return parts.join('\n\n')
}

function surroundings({ dir, depth }: SessionSeed): string {
  const who =
    depth === 0
      ? 'Your final message goes to the user.'
      : 'You are a sub-agent: your final message is all that the agent who sent you gets, so put everything it needs there.'
  return `Working folder: ${dir}\nPaths are relative to it.\n${who}`
}

function skillList(skills: readonly SkillDefinition[]): string {
  const rows = skills.map(({ name, description }) => `- ${name}: ${oneLine(description)}`)
  return `Skills (load one with the skill tool when its description fits):\n${rows.join('\n')}`
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}
