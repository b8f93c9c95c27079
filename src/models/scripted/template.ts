import { isSameTool } from '../tool-names.ts'
import { resultLines, type ScriptFacts } from './facts.ts'

/** What templates are filled from. */
export type TemplateSource = { facts: ScriptFacts; groups: readonly string[] }

const placeholder = /\\?\{\{\s*([a-z]+)(?:\.([\w-]+))?\s*((?:\|[^{}|]*)*)\}\}/g

/**
 * Fills `{{prompt}}`, `{{last}}`, `{{results}}`, `{{match.N}}`, `{{turn}}`, `{{agent}}`, `{{depth}}` and
 * `{{output.TOOL}}` (the latest output of a tool), each with filters: `{{last|lines:5}}`. What it does not know, such as
 * another program's `{{braces}}`, stays as it is, and so does what a backslash precedes (which goes); values are never
 * filled again.
 */
export function fillTemplate(text: string, source: TemplateSource): string {
  if (!text.includes('{{')) return text
  return text.replace(placeholder, (whole, name: string, part: string | undefined, filters: string) => {
    if (whole.startsWith('\\')) return whole.slice(1)
    const value = findValue(name, part, source)
    return value === undefined ? whole : applyFilters(value, filters)
  })
}

/** The same for every string within a value. */
export function fillTemplates(value: unknown, source: TemplateSource): unknown {
  if (typeof value === 'string') return fillTemplate(value, source)
  if (Array.isArray(value)) return value.map((item) => fillTemplates(item, source))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillTemplates(item, source)]))
}

/** Makes a text come out of `fillTemplate` as it is. */
export function escapeTemplate(text: string): string {
  return text.replace(placeholder, (whole) => `\\${whole}`)
}

function findValue(name: string, part: string | undefined, { facts, groups }: TemplateSource): string | undefined {
  if (part !== undefined) {
    if (name === 'match') return groups[Number(part)] ?? ''
    return name === 'output' ? latestOutput(facts, part) : undefined
  }
  if (name === 'last') return facts.text
  if (name === 'results') return resultLines(facts)
  if (name === 'prompt' || name === 'agent' || name === 'turn' || name === 'depth') return String(facts[name])
  return undefined
}

function latestOutput({ messages }: ScriptFacts, tool: string): string {
  const found = messages.findLast((message) => message.role === 'tool' && isSameTool(message.tool, tool))
  return found?.role === 'tool' ? found.output : ''
}

type Filter = (text: string, argument: string) => string

/** `lines:N` first lines that are not blank · `chars:N` · `count` lines that are not blank · `paths` lines that look like a path · `kinds` file endings by number · `only:REGEX` lines · `indent:N` · `width:N` of each line */
const filters: Readonly<Record<string, Filter>> = {
  lines: (text, count) => filledLines(text).slice(0, Number(count)).join('\n'),
  chars: (text, count) => (text.length > Number(count) ? `${text.slice(0, Number(count))}…` : text),
  count: (text) => String(filledLines(text).length),
  paths: (text) => filledLines(text).filter(isPath).join('\n'),
  kinds: (text) => kinds(filledLines(text).filter(isPath)),
  only: (text, source) => {
    const pattern = new RegExp(source)
    return filledLines(text)
      .filter((line) => pattern.test(line))
      .join('\n')
  },
  width: (text, count) =>
    text
      .split('\n')
      .map((line) => filters.chars?.(line, count) ?? line)
      .join('\n'),
  indent: (text, count) => text.replace(/^(?=.)/gm, ' '.repeat(Number(count))),
}

function applyFilters(value: string, chain: string): string {
  return chain
    .split('|')
    .filter((step) => step.trim() !== '')
    .reduce((text, step) => {
      const [name = '', argument = ''] = step.trim().split(/:(.*)/s)
      return filters[name]?.(text, argument) ?? text
    }, value)
}

function filledLines(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}

/** Neither a note of a tool, `[showing the newest 100]`, nor a sentence. */
function isPath(line: string): boolean {
  return !/^\s|^\[.* .*\]$|^No files |[.!?:]$/.test(line)
}

function kinds(paths: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const ending = /[^/](\.[A-Za-z0-9]+)$/.exec(path)?.[1] ?? 'without ending'
    counts.set(ending, (counts.get(ending) ?? 0) + 1)
  }
  const sorted = [...counts].sort(([, one], [, other]) => other - one)
  return sorted
    .slice(0, 8)
    .map(([ending, count]) => `${count} ${ending}`)
    .join(', ')
}
