import * as z from 'zod'
import { RuntimeError } from '../core/errors.ts'
import { shellText } from './bash-text.ts'
import { defineTool } from './define-tool.ts'
import { headOf } from './text.ts'
import { toolsets } from './toolsets.ts'
import type { ResolvedPath, Workspace } from './workspace.ts'

const { usual, most } = toolsets.full.commandMs
const maxTitleChars = 100

/** Runs a shell command to its end and returns what it printed; nothing that it started goes on afterwards. */
export const bash = defineTool({
  name: 'bash',
  description:
    'Run a command with `sh -c` in the workspace and return its output, stdout and stderr in true order. There is no input and no terminal: pass flags that avoid questions. Background processes are ended with the command. To read, search and edit files use the tools made for it.',
  input: z.object({
    command: z.string().min(1).describe('Command for sh'),
    timeout_ms: z.number().min(1).optional().describe(`Time limit in milliseconds; default ${usual}, at most ${most}`),
    cwd: z.string().optional().describe('Folder to run in, relative to the workspace'),
    description: z.string().optional().describe('What the command does, in 5 to 10 words'),
  }),
  effect: 'write',
  keep: 'both',

  permission({ command, cwd }, { workspace }) {
    const { path, outside } = folderOf(workspace, cwd)
    return { key: 'bash', pattern: command, ...(cwd !== undefined && { cwd: path }), ...(outside && { outside: path }) }
  },

  async prepare(input, { workspace }) {
    folderOf(workspace, input.cwd)
    const where = input.cwd === undefined ? '' : ` (in ${input.cwd})`
    return { kind: 'shell', title: titleOf(input) + where, detail: input.command }
  },

  async run(input, { workspace, signal, services, toolset, maxChars, leave }) {
    const { command } = input
    const cwd = folderOf(workspace, input.cwd).path
    const { commandMs, sectionsOutput: splitStderr } = toolsets[toolset]
    const timeoutMs = Math.min(input.timeout_ms ?? commandMs.usual, commandMs.most)
    signal.throwIfAborted()
    const outcome = await services.runProcess({ command, cwd, timeoutMs, splitStderr, signal, leave })
    // Cancelled by us: by now the processes are gone.
    if (outcome.ended === 'cancelled') signal.throwIfAborted()
    const { exitCode, signal: killedBy, durationMs, spilled } = outcome
    return {
      title: titleOf(input),
      output: shellText(outcome, { timeoutMs, toolset, maxChars }),
      isError: outcome.ended !== 'exited',
      metadata: { exitCode, signal: killedBy, durationMs },
      ...(spilled !== undefined && { spilled: spilled.path }),
    }
  },
})

function titleOf({ command, description }: { command: string; description?: string }): string {
  const text = description?.trim() || command.trim().split('\n', 1)[0]!
  return text.length > maxTitleChars ? `${headOf(text, maxTitleChars - 3)}...` : text
}

// Never another folder than the one that was asked for.
function folderOf(workspace: Workspace, cwd: string | undefined): ResolvedPath {
  const folder = workspace.resolve(cwd ?? '.')
  const stat = workspace.stat(folder)
  if (stat?.kind === 'folder') return folder
  const problem = stat === undefined ? `There is no folder ${cwd}` : `${cwd} is not a folder`
  throw new RuntimeError('not-a-folder', `${problem}; the command was not run. Name an existing folder as cwd.`)
}
