import { compactNames } from '../core/tool-names.ts'
import type { Toolset } from './define-tool.ts'

/** How the model sees the tools: names, texts and limits. Never what is allowed. */
export type ToolsetProfile = {
  /** Canonical name to the shown one; a missing name is shown as it is. */
  names: Readonly<Record<string, string>>
  /** Canonical names that are not shown, though they may be called. */
  hidden: readonly string[]
  /** Texts that replace a tool's own. With `parameters`, only those that it describes keep a description; those in `without` are not shown, though they may be given. */
  texts: Readonly<
    Record<string, { description: string; parameters: Readonly<Record<string, string>>; without?: readonly string[] }>
  >
  /** Longest description of an agent in the `task` tool, in characters. */
  agentChars: number
  /** Longest output, in characters, before it is shortened. */
  maxChars: number
  /** `middle`: head and tail stay around a marker that names the file with the whole; `end`: a plain `...[truncated]`. */
  shorten: 'middle' | 'end'
  /** Time limits of a command in milliseconds: one that names none, and the longest. */
  commandMs: { usual: number; most: number }
  /** Whether a command's stderr comes as a section of its own, and its exit code always as the last line. */
  sectionsOutput: boolean
  grepMatches: number
  /** Whether lines found are shown without the blanks around them. */
  grepTrims: boolean
  globFiles: number
  /** Whether a text without a line break, but with a literal `\n`, is repaired. */
  repairNewlines: boolean
  /** Whether an edit that finds no single place is an error to the model or a plain explanation. */
  editMissIsError: boolean
  /** Whether only the very text counts as found by an edit. */
  editIsExact: boolean
}

export const toolsets: Readonly<Record<Toolset, ToolsetProfile>> = {
  full: {
    names: {},
    hidden: [],
    texts: {},
    agentChars: 240,
    maxChars: 30_000,
    shorten: 'middle',
    commandMs: { usual: 120_000, most: 600_000 },
    sectionsOutput: false,
    grepMatches: 100,
    grepTrims: false,
    globFiles: 100,
    repairNewlines: false,
    editMissIsError: true,
    editIsExact: false,
  },
  compact: {
    names: compactNames,
    hidden: ['todoread'],
    texts: {
      bash: {
        description: 'Run a shell command, at most 30 s. Output ends with the exit code.',
        parameters: {},
        without: ['description', 'cwd'],
      },
      read: {
        description: 'Read a text file with line numbers, or list a folder.',
        parameters: { offset: 'First line, from 1' },
      },
      edit: {
        description:
          'Replace text in a file. Read the file first and copy old_string verbatim, without line numbers; it must occur once.',
        parameters: { replace_all: 'Replace every occurrence' },
      },
      write: { description: 'Create a new file, or replace a whole one.', parameters: {} },
      glob: {
        description: 'Find files by name pattern, newest first.',
        parameters: { pattern: 'Such as **/*.ts' },
      },
      grep: {
        description: 'Search file contents with a regular expression.',
        parameters: { path: 'File or folder', include: 'Such as *.ts' },
      },
      webfetch: {
        description: 'Get a web page as Markdown.',
        parameters: {},
      },
      todowrite: { description: 'Replace your to-do list.', parameters: {}, without: ['priority'] },
      todoread: { description: 'Show your to-do list.', parameters: {} },
      skill: { description: 'Load the instructions of a skill by name.', parameters: {} },
      update_memory: {
        description: 'Remember a fact or rule about this project for later sessions.',
        parameters: { replace: 'Replace all of it' },
      },
      task: {
        description: 'Give a job to a sub-agent. It sees only your prompt.',
        parameters: {
          prompt: 'Complete instructions',
          background: 'Go on at once; the result comes later by itself',
          job: 'Continue this finished job',
          context: 'Files to hand over, or job:exp-1',
          files: 'Globs that it alone may change',
        },
        without: ['description', 'isolation', 'timeout_ms', 'max_turns'],
      },
      task_send: { description: 'Send a message to a running sub-agent.', parameters: {} },
      task_wait: { description: 'Wait until a sub-agent ends or time is over.', parameters: {} },
      task_cancel: { description: 'Stop a sub-agent.', parameters: {} },
      read_sub_agent: {
        description: 'Read what a sub-agent did, by pages.',
        parameters: {},
      },
    },
    agentChars: 60,
    maxChars: 20_000,
    shorten: 'end',
    commandMs: { usual: 30_000, most: 30_000 },
    sectionsOutput: true,
    grepMatches: 200,
    grepTrims: true,
    globFiles: 100,
    repairNewlines: true,
    editMissIsError: false,
    editIsExact: true,
  },
}

/** A model below this many billion parameters gets the compact toolset. */
const compactBelow = 9

/** The agent's choice, else the configuration's; `auto` goes by the model's size in billions of parameters. */
export function chooseToolset(
  agent: 'auto' | Toolset | undefined,
  settings: 'auto' | Toolset,
  parameters: number | undefined,
): Toolset {
  if (agent !== undefined && agent !== 'auto') return agent
  if (settings !== 'auto') return settings
  return parameters !== undefined && parameters < compactBelow ? 'compact' : 'full'
}

/** The name under which a toolset shows a canonical tool. */
export function shownName(toolset: Toolset, canonical: string): string {
  const { names } = toolsets[toolset]
  // A model may ask for `constructor`, which every object has.
  return Object.hasOwn(names, canonical) ? names[canonical]! : canonical
}
