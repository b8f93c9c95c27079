import { accessSync, constants, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf } from '../core/errors.ts'
import type { Troupe } from '../index.ts'
import { examineServer } from './doctor-server.ts'
import type { WorkspaceOptions } from './options.ts'
import { diagnosticLine } from './run/run-lines.ts'
import { plural } from './terminal/numbers.ts'
import { packageFile, withoutModel, withTroupe } from './with-troupe.ts'

/** One thing that was looked at. `false`: it must work and does not; `warn`: it works, but not as one may think. */
export type Finding = { what: string; ok: boolean | 'warn'; found: string; remedy?: string }

export type DoctorOptions = WorkspaceOptions & { env: NodeJS.ProcessEnv }

/** Looks at all that a run needs, and never throws: what fails is a finding. */
export async function diagnose(options: DoctorOptions): Promise<Finding[]> {
  const { env, ...workspace } = options
  const server = examineServer(env, workspace.model?.startsWith('scripted:') === true)
  const folders = [nodeVersion(), await dataFolder(env), workFolder(workspace.dir), await examineSandbox()]
  const definitions = await examineDefinitions(workspace)
  return [...folders, ...(await server), ...definitions, ...(await examineModel(workspace))]
}

function nodeVersion(): Finding {
  const { engines } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))
  const found = `${process.version} (needed: ${engines.node})`
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const ok = major > 20 || (major === 20 && minor >= 19)
  return { what: 'Node', ok, found, ...(!ok && { remedy: 'Install a newer one: https://nodejs.org' }) }
}

async function dataFolder(env: NodeJS.ProcessEnv): Promise<Finding> {
  const { dataDir } = await import('../index.ts')
  try {
    return { what: 'Sessions', ok: true, found: `kept in ${dataDir(env)}` }
  } catch (error) {
    return { what: 'Sessions', ok: false, found: messageOf(error) }
  }
}

function workFolder(dir = '.'): Finding {
  const path = resolve(dir)
  try {
    accessSync(path, constants.R_OK | constants.X_OK)
  } catch {
    return { what: 'Folder', ok: false, found: `${path} cannot be read`, remedy: 'Give another one with --dir.' }
  }
  try {
    accessSync(path, constants.W_OK)
    return { what: 'Folder', ok: true, found: path }
  } catch {
    return { what: 'Folder', ok: 'warn', found: `${path} is read-only: agents can look, but change nothing` }
  }
}

/** Whether commands could be confined here; whether they are is the configuration's. */
async function examineSandbox(): Promise<Finding> {
  const { probeSandbox } = await import('../index.ts')
  const found = await probeSandbox()
  if ('file' in found) return { what: 'Sandbox', ok: true, found: `${found.file} works` }
  return { what: 'Sandbox', ok: 'warn', found: `none: ${found.problem}` }
}

/** Configuration, agents and skills, whatever the model. */
async function examineDefinitions(workspace: WorkspaceOptions): Promise<Finding[]> {
  try {
    return await withTroupe(withoutModel({ ...workspace, model: undefined }), definitionFindings)
  } catch (error) {
    return [{ what: 'Configuration', ok: false, found: messageOf(error) }]
  }
}

function definitionFindings({ agents, skills, diagnostics, notes }: Troupe): Finding[] {
  return [
    { what: 'Definitions', ok: true, found: `${plural(agents.length, 'agent')}, ${plural(skills.length, 'skill')}` },
    ...notes.map((found): Finding => ({ what: 'Note', ok: 'warn', found })),
    ...diagnostics.map(
      (diagnostic): Finding => ({
        what: 'Definition',
        ok: diagnostic.severity === 'error' ? false : 'warn',
        found: diagnosticLine(diagnostic),
      }),
    ),
  ]
}

async function examineModel(workspace: WorkspaceOptions): Promise<Finding[]> {
  try {
    return await withTroupe({ ...workspace, host: 'inline' }, ({ model }) => [modelFinding(model)])
  } catch (error) {
    return [{ what: 'Model', ok: false, found: messageOf(error) }]
  }
}

function modelFinding({ ref, slots, contextTokens, note }: Troupe['model']): Finding {
  const sizes = `${slots === null ? 'no limit of slots' : plural(slots, 'slot')}, ${contextTokens} tokens of context`
  return { what: 'Model', ok: note === undefined ? true : 'warn', found: `${ref}: ${sizes}${note ? `. ${note}` : ''}` }
}
