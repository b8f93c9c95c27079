import type { AgentDefinition } from '../core/agent.ts'
import type { AgentFormat } from './agent-model.ts'
import { foldersUpTo } from './paths.ts'

/** Where definitions are looked for. `dir` is inside `worktree`. */
export type LoadRequest = { dir: string; worktree: string; userConfigDir: string; builtinDir: string }

/** A folder of definitions, whether it exists or not. */
export type DefinitionFolder = {
  path: string
  kind: Exclude<AgentDefinition['source']['kind'], 'code'>
  format: AgentFormat
}

/** All folders of one kind of definition, narrowest first: the project's from `dir` upward, the user's, the built-in one. */
export function definitionFolders(request: LoadRequest, what: 'agents' | 'skills'): DefinitionFolder[] {
  const names: [string, AgentFormat][] = [
    [`.troupe/${what}`, 'troupe'],
    [`.claude/${what}`, 'claude'],
    [`.opencode/${what.slice(0, -1)}`, 'opencode'],
    [`.opencode/${what}`, 'opencode'],
  ]
  const project = foldersUpTo(request.dir, request.worktree).flatMap((folder) =>
    names.map(([name, format]): DefinitionFolder => ({ path: `${folder}/${name}`, kind: 'project', format })),
  )
  return [
    ...project,
    { path: `${request.userConfigDir}/${what}`, kind: 'user', format: 'troupe' },
    { path: request.builtinDir, kind: 'builtin', format: 'troupe' },
  ]
}
