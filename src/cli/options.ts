import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Config } from '../core/config.ts'
import type { PermissionMode } from '../core/permission.ts'
import type { TroupeOptions } from '../index.ts'

/** What `run` and `resume` take. `timeout` is in milliseconds here. */
export type RunOptions = WorkspaceOptions & {
  agent?: string
  session?: string
  json?: boolean
  permission?: PermissionMode
  allow?: string[]
  deny?: string[]
  sandbox?: Config['sandbox']
  network?: Config['network']
  maxTurns?: number
  timeout?: number
  outputSchema?: string
}

/** What every command takes that looks at a folder and its configuration. */
export type WorkspaceOptions = { dir?: string; model?: string; trust?: boolean }

const permissionModes: PermissionMode[] = ['ask', 'edits', 'allow', 'deny', 'strict']
const sandboxModes: Config['sandbox'][] = ['off', 'read-only', 'workspace-write']

/** Adds `--dir`, `--model` and `--trust`. */
export function addWorkspaceOptions(command: Command): Command {
  return command
    .option('--dir <dir>', 'folder to work in (default: this one)')
    .option('--model <provider/name>', 'model, such as ollama/qwen3:8b or scripted:FILE', absoluteScript)
    .option('--trust', "use the folder's own configuration without asking")
}

/** Adds what every run can be given besides its prompt. */
export function addRunOptions(command: Command): Command {
  return addWorkspaceOptions(command)
    .option('--json', 'print events, one JSON object a line, instead of the answer')
    .addOption(new Option('--permission <mode>', 'how questions are decided').choices(permissionModes))
    .option('--allow <key:pattern>', 'allow what matches, such as "bash:npm test*" (repeatable)', collect)
    .option('--deny <key:pattern>', 'deny what matches (repeatable)', collect)
    .addOption(new Option('--sandbox <mode>', 'what commands may write').choices(sandboxModes))
    .addOption(new Option('--network <state>', 'network of commands in the sandbox').choices(['off', 'on']))
    .option('--output-schema <file>', 'JSON Schema that the answer must fit')
}

/** The library's options of these; what was not given is not there. */
export function troupeOptions(options: RunOptions): TroupeOptions {
  const { dir, model, trust, permission, allow, deny, sandbox, network } = options
  const config = given({ sandbox, network })
  return { ...given({ dir, model, trust, permission, allow, deny }), ...(Object.keys(config).length > 0 && { config }) }
}

function given<T extends object>(values: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: NonNullable<T[Name]>
  }
}

/** For commander: a whole number of at least 1. */
export function wholeNumber(text: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number >= 1) return number
  throw new InvalidArgumentError('Give a whole number of at least 1.')
}

/** For commander: a whole number of at least 0. */
export function countFromZero(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give a whole number.')
}

/** For commander: a port, 0 for any free one. */
export function portNumber(text: string): number {
  const number = countFromZero(text)
  if (number <= 65_535) return number
  throw new InvalidArgumentError('Give a port from 0 to 65535.')
}

/** For commander: seconds, given on as milliseconds. */
export function milliseconds(text: string): number {
  const seconds = Number(text)
  if (text.trim() !== '' && Number.isFinite(seconds) && seconds > 0) return Math.max(1, Math.round(seconds * 1000))
  throw new InvalidArgumentError('Give seconds, such as 90.')
}

function collect(text: string, before: string[] | undefined): string[] {
  return [...(before ?? []), text]
}

/** A script is named from where the user stands, whatever `--dir` says. */
function absoluteScript(model: string): string {
  return model.startsWith('scripted:') ? `scripted:${resolve(model.slice('scripted:'.length))}` : model
}
