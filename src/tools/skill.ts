import { basename, dirname } from 'node:path'
import * as z from 'zod'
import { RuntimeError } from '../core/errors.ts'
import { defineTool, type ToolContext } from './define-tool.ts'
import { nearNames } from './near-names.ts'
import { walkFiles } from './search/walk-files.ts'
import type { ResolvedPath } from './workspace.ts'

const maxListed = 100

/** Loads the instructions of a skill, and names the files that come with it. */
export const skill = defineTool({
  name: 'skill',
  description: 'Load the instructions of a skill by its name, before work that it is made for.',
  input: z.object({ name: z.string().describe('Name of the skill, from the list of skills') }),
  effect: 'read',
  keep: 'head',
  permission: ({ name }) => ({ key: 'skill', pattern: name }),

  async run({ name }, context) {
    const found = context.skills.find((known) => known.name === name)
    if (!found) throw unknownSkill(name, context)
    const file: ResolvedPath = { path: found.path, relative: found.path, outside: true }
    const { bytes } = await context.workspace.load(file, context.signal)
    const files = await companions(found.path, context)
    return { title: name, output: [bodyOf(bytes.toString('utf8')), files].filter(Boolean).join('\n\n') }
  },
})

function unknownSkill(name: string, { skills }: ToolContext): RuntimeError {
  const names = skills.map((known) => known.name)
  const near = nearNames(name, names)
  const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ''
  return new RuntimeError('not-found', `There is no skill ${name}.${hint} Skills: ${names.join(', ') || 'none'}.`)
}

/** Without the frontmatter, which only says when to use the skill. */
function bodyOf(text: string): string {
  const [, body = text] = /^\uFEFF?---[ \t]*\r?\n(?:[\s\S]*?\r?\n)?---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(text) ?? []
  return body.trim()
}

async function companions(path: string, { workspace, signal }: ToolContext): Promise<string> {
  const folder = dirname(path)
  const { files } = await walkFiles(folder, { workspace: workspace.dir, signal })
  const names = files
    .map(({ below }) => below)
    .filter((below) => below !== basename(path))
    .sort()
  if (names.length === 0) return ''
  const more = names.length > maxListed ? `\n[and ${names.length - maxListed} more]` : ''
  return `Files of this skill, in ${folder}:\n${names.slice(0, maxListed).join('\n')}${more}`
}
