import type { JsonSchema } from '../../src/core/model.ts'
import { allTools } from '../../src/tools/all-tools.ts'
import type { Tool } from '../../src/tools/define-tool.ts'
import { createRegistry, permissionKeyOf } from '../../src/tools/registry.ts'
import { shownName, toolsets } from '../../src/tools/toolsets.ts'

const { full, compact } = toolsets

const introduction = `<!-- Made from the declarations in src/tools/. After a change: npm test -- test/tools-document.test.ts -u -->

# Tools

What an agent can call. Agent files, rules and configuration name the canonical tools, the first of each heading; the toolset
\`compact\`, for models under 9 B parameters, shows some of them under other names, with shorter texts and other limits. A toolset
never changes what is allowed.

|  | \`full\` | \`compact\` |
| --- | --- | --- |
| longest output | ${full.maxChars} characters: head and tail around a marker that names the file with the whole | ${compact.maxChars} characters, then \`...[truncated]\` |
| time of a command | ${seconds(full.commandMs.usual)} if none is named, at most ${seconds(full.commandMs.most)} | ${seconds(compact.commandMs.most)} |
| output of a command | stdout and stderr in true order | stdout, then a section \`[stderr]\`; the last line is \`[exit code: N]\` |
| lines of a search | ${full.grepMatches} | ${compact.grepMatches}, without the blanks around them |
| an edit finds | the text, or what differs from it in blanks and little more | the very text |
| an edit that finds no single place | is an error | is a plain explanation |
| literal \`\\n\` in a text without line breaks | stays | becomes a line break, and the result says so |

A tool that may act on the world (*writes*) runs after the one before it, in the order of the calls, and is never run a second
time after a crash. The others run side by side. Every call goes through the [permissions](agents.md#permission-keys).

Paths are relative to the workspace. Searches take in what git does not ignore (by the repository's own rules, not by the
user's global ones: everybody's agents see the same), hidden files too; they run on ripgrep where it has
a binary for the machine. \`grep\` shows nothing of files that may not be read, \`glob\` shows their names. \`webfetch\` contacts nothing in
private networks but the hosts in \`webfetch.allowHosts\` of your own configuration ([cli.md](cli.md#configuration)).
It uses the proxy of your environment (\`HTTPS_PROXY\`, \`HTTP_PROXY\`, \`ALL_PROXY\`, \`NO_PROXY\`; http and https ones), and judges
addresses as before: what leads into a private network as seen from here is refused. What the proxy itself makes of a name is
beyond it: let the proxy keep to the public internet.

\`read\` shows PNG, JPEG and WebP images, up to 5 MB, to models whose server says that they see (\`vision\`); to others it names
them. What is shown is kept beside the session's outputs; of many images a request carries the newest, up to 12 MB.

What the project tells every agent is part of its system prompt: \`AGENTS.md\` and \`CLAUDE.md\` from the worktree down to the
workspace, and \`.troupe/memory.md\`, which \`update_memory\` writes; at most an eighth of the model's context in all.
`

/** The text of docs/tools.md. */
export function toolsDocument(): string {
  return `${introduction}\n${allTools.map(sectionOf).join('\n')}`
}

function sectionOf(tool: Tool): string {
  const spec = createRegistry({
    agent: { tools: [], permission: [] },
    depth: 0,
    settings: { maxDepth: 1, rules: [] },
    toolset: 'full',
    spawnable: [{ name: 'AGENT', description: '' }],
    tools: [tool],
  }).specs()[0]!
  const [description] = spec.description.split('\nAgents:\n')
  const parameters = Object.entries((spec.parameters.properties ?? {}) as Record<string, JsonSchema>)
  const required = (spec.parameters.required ?? []) as string[]
  const rows = parameters.map(([name, schema]) => row(name, schema, required.includes(name)))
  const table = ['| parameter | type | what it says |', '| --- | --- | --- |', ...rows].join('\n')
  return `## ${headingOf(tool)}\n\n${description}\n\n${factsOf(tool)}\n${rows.length > 0 ? `\n${table}\n` : ''}`
}

function headingOf({ name }: Tool): string {
  const shown = shownName('compact', name)
  return shown === name ? `\`${name}\`` : `\`${name}\`, \`${shown}\``
}

function factsOf({ name, effect }: Tool): string {
  const key = permissionKeyOf(name)
  const permission = key === undefined ? 'Needs no permission.' : `Permission: \`${key}\`.`
  const hidden = compact.hidden.includes(name) ? ' Not shown in `compact`.' : ''
  return `${effect === 'write' ? 'Writes. ' : ''}${permission}${hidden}`
}

function row(name: string, schema: JsonSchema, isRequired: boolean): string {
  const { description = '', default: standard } = schema
  const note = isRequired ? '' : standard === undefined ? ', optional' : `, default \`${JSON.stringify(standard)}\``
  return `| \`${name}\` | ${typeOf(schema)}${note} | ${String(description).replace(/[|*]/g, '\\$&')} |`
}

function typeOf(schema: JsonSchema): string {
  const {
    type,
    enum: values,
    items,
    properties,
  } = schema as {
    type?: string
    enum?: string[]
    items?: JsonSchema
    properties?: Record<string, JsonSchema>
  }
  if (values) return values.map((value) => `\`${value}\``).join(' or ')
  if (items) return `list of ${typeOf(items)}`
  if (properties)
    return `{ ${Object.entries(properties)
      .map(([name, inner]) => `${name}: ${typeOf(inner)}`)
      .join(', ')} }`
  return type ?? 'any'
}

function seconds(ms: number): string {
  return ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1000} s`
}
