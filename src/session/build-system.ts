import type { SkillDefinition } from '../core/agent.ts'
import { roomForMemory } from '../core/context-room.ts'
import type { ProjectMemory } from '../core/messages.ts'
import type { SessionSeed } from '../core/records.ts'

export type SystemPrompt = {
  seed: SessionSeed
  memory?: ProjectMemory
  /** Those that it can load; none: it has no tool for it. */
  skills: readonly SkillDefinition[]
  contextTokens: number
}

/** The agent's text, where it works, what the project says, its skills. Byte-stable for the life of a session. */
export function buildSystem({ seed, memory, skills, contextTokens }: SystemPrompt): string {
  const parts = [seed.agent.prompt.trim(), surroundings(seed)]
  if (memory && memory.parts.length > 0) parts.push(projectTexts(memory, roomForMemory(contextTokens)))
  if (skills.length > 0) parts.push(skillList(skills))
  return parts.join('\n\n')
}

function surroundings({ dir, depth, worktree }: SessionSeed): string {
  const who =
    depth === 0
      ? 'Your final message goes to the user.'
      : 'You are a sub-agent: your final message is all that the agent who sent you gets, so put everything it needs there.'
  const where = worktree
    ? `It is a git worktree of your own, on branch ${worktree.branch}. What you leave uncommitted is committed there when you are done.\n`
    : ''
  return `Working folder: ${dir}\nPaths are relative to it.\n${where}${who}`
}

function projectTexts({ parts }: ProjectMemory, maxChars: number): string {
  const texts = parts.map(({ origin, text }, n) => {
    const room = shareOf(
      parts.map((part) => part.text.length),
      n,
      maxChars,
    )
    return `From ${origin}:\n${text.length <= room ? text : cut(text, room)}`
  })
  return `What the files of this project tell whoever works in it:\n\n${texts.join('\n\n')}`
}

/** An equal share of the room, and what shorter texts leave of theirs. */
function shareOf(lengths: readonly number[], n: number, room: number): number {
  const sorted = [...lengths].sort((a, b) => a - b)
  let left = room
  for (const [i, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - i))
    if (length > share) return Math.min(lengths[n]!, share)
    left -= length
  }
  return lengths[n]!
}

function cut(text: string, length: number): string {
  const head = text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')
  return `${head}\n[cut here: ${text.length - head.length} more characters in the file]`
}

function skillList(skills: readonly SkillDefinition[]): string {
  const rows = skills.map(({ name, description }) => `- ${name}: ${oneLine(description)}`)
  return `Skills (load one with the skill tool when its description fits):\n${rows.join('\n')}`
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}
