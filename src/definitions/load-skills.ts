import { basename, dirname } from 'node:path'
import type { Diagnostic, SkillDefinition } from '../core/agent.ts'
import { parseAgentShape } from './agent-shape.ts'
import { checkHooks } from './assemble-agent.ts'
import { refuse, type Warning } from './definition-error.ts'
import { type DefinitionFolder, definitionFolders, type LoadRequest } from './definition-folders.ts'
import { descriptionOf, nameOf } from './definition-text.ts'
import { listFiles, type Seen } from './list-files.ts'
import { type Frontmatter, parseFrontmatter } from './parse-frontmatter.ts'
import { type Attempt, attempt, type Candidate, pickWinners } from './pick-winners.ts'
import { readDefinition } from './read-definition.ts'

const headBytes = 32 * 1024

/**
 * Lists the skills of a workspace: its own before the user's before the built-in ones, one for each name. Reads only the
 * start of each SKILL.md. A skill that models may not choose (`disable-model-invocation`) is left out with a warning.
 */
export async function loadSkills(
  request: LoadRequest,
): Promise<{ skills: SkillDefinition[]; diagnostics: Diagnostic[] }> {
  const seen: Seen = new Set()
  const attempts = definitionFolders(request, 'skills').flatMap((folder) => loadFolder(folder, seen))
  const { winners, diagnostics } = pickWinners(attempts, 'Skill')
  return { skills: winners.flatMap(({ value }) => value ?? []), diagnostics }
}

/** The text of a skill, without its frontmatter; nothing in it is run. Throws a `DefinitionError` if it can't be read. */
export async function loadSkillBody(path: string): Promise<string> {
  return parseFrontmatter(readDefinition(path)).body
}

function loadFolder(folder: DefinitionFolder, seen: Seen): Attempt<SkillDefinition | undefined>[] {
  const isSkill = ({ name }: { name: string }) => /^skill\.md$/i.test(name)
  const paths = listFiles(folder.path, isSkill, { seen, stopsAtFind: true })
  return paths.map((path) => attempt(path, () => loadSkill(path, folder)))
}

function loadSkill(path: string, { kind }: DefinitionFolder): Candidate<SkillDefinition | undefined> {
  const parsed = readHead(path)
  const { fields, body } = parsed
  const warnings: Warning[] = [...parsed.warnings]
  const name = nameOf(fields, basename(dirname(path)))
  const description = descriptionOf(fields, body) || name
  if (!parsed.found)
    warnings.push({ message: 'No frontmatter: name and description are taken from folder and text.', line: 1 })
  const isHidden = checkRestrictions(parsed, warnings)
  return { name, value: isHidden ? undefined : { name, description, path, source: { kind } }, path, kind, warnings }
}

/** Whether models may not choose the skill. */
function checkRestrictions({ fields }: Frontmatter, warnings: Warning[]): boolean {
  checkHooks(fields.get('hooks'), warnings)
  const own = new Map([...fields].filter(([key]) => key === 'disableModelInvocation' || key === 'disable'))
  const { disableModelInvocation, disable } = parseAgentShape(own)
  const line = fields.get('disableModelInvocation')?.line
  if (disableModelInvocation)
    warnings.push({ message: 'Models may not choose this skill, so it is not offered to them.', line })
  const tools = fields.get('allowedTools') ?? fields.get('tools')
  if (tools)
    warnings.push({
      message: `${tools.written} is not used: the tools and permissions of the agent count.`,
      line: tools.line,
    })
  return disableModelInvocation === true || disable === true
}

/** Enough of the file for its frontmatter and first paragraph; all of it where the fence lies farther down. */
function readHead(path: string): Frontmatter {
  const head = readDefinition(path, headBytes)
  if (head.trim() === '')
    refuse('The file is empty. Write frontmatter with name: and description:, and the instructions.', 1)
  if (head.length < headBytes / 4 || /\n---[ \t]*\r?\n/.test(head)) return parseFrontmatter(head)
  return parseFrontmatter(readDefinition(path))
}
