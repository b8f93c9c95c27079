import { basename, relative } from 'node:path'
import type { AgentDefinition, Diagnostic } from '../core/agent.ts'
import { type DefinitionFolder, definitionFolders, type LoadRequest } from './definition-folders.ts'
import { listFiles, type Seen } from './list-files.ts'
import { type ParsedAgent, parseAgent } from './parse-agent.ts'
import { type Attempt, attempt, type Candidate, pickWinners } from './pick-winners.ts'
import { readDefinition } from './read-definition.ts'

/**
 * Loads the agents of a workspace: its own before the user's before the built-in ones, one for each name. A file that is
 * broken, or unclear about what it forbids, is left out with one diagnostic and stops no other. Built-in agents come last.
 */
export async function loadAgents(
  request: LoadRequest,
): Promise<{ agents: AgentDefinition[]; diagnostics: Diagnostic[] }> {
  const seen: Seen = new Set()
  const attempts = definitionFolders(request, 'agents').flatMap((folder) => loadFolder(folder, seen))
  const { winners, diagnostics } = pickWinners(attempts, 'Agent')
  return { agents: winners.filter(({ value }) => !value.disabled).map(({ value }) => value.agent), diagnostics }
}

/** What stands in one folder of agents, those that were refused included. */
export function loadFolder(folder: DefinitionFolder, seen: Seen): Attempt<ParsedAgent>[] {
  const paths = listFiles(folder.path, ({ name }) => /\.md$/i.test(name), { seen })
  return paths.map((path) => {
    const load = () => loadAgent(path, folder)
    return attempt(path, load, () => namesMeant(path, folder))
  })
}

function loadAgent(path: string, { path: folder, kind, format }: DefinitionFolder): Candidate<ParsedAgent> | undefined {
  const text = readDefinition(path)
  if (/^readme\.md$/i.test(basename(path)) && !/^\s*---/.test(text)) return undefined
  const value = parseAgent({
    text,
    fallbackName: nameOfFile(path, { path: folder, format }),
    format,
    source: { kind, path },
  })
  return { name: value.agent.name, value, path, kind, warnings: value.warnings }
}

function nameOfFile(path: string, { path: folder, format }: Pick<DefinitionFolder, 'path' | 'format'>): string {
  const inFolder = format === 'opencode' ? relative(folder, path).replaceAll('\\', '/') : basename(path)
  return inFolder.replace(/\.md$/i, '')
}

/** Of a file that was refused: its own name, and whatever it calls itself as far as one can see. */
function namesMeant(path: string, folder: DefinitionFolder): string[] {
  const own = nameOfFile(path, folder)
  try {
    const [, name] = /^[\s"']*name["']?[ \t]*:[ \t]*["']?([^"'\n\r]+)/im.exec(readDefinition(path)) ?? []
    return name === undefined ? [own] : [own, name.trim()]
  } catch {
    return [own] // It cannot be read: that is why it was refused.
  }
}
