import type { AgentDefinition } from '../core/agent.ts'
import type { AgentFormat } from './agent-model.ts'
import { assembleAgent } from './assemble-agent.ts'
import { refuse, type Warning } from './definition-error.ts'
import { descriptionOf, nameOf } from './definition-text.ts'
import { type Field, parseFrontmatter } from './parse-frontmatter.ts'

export type AgentText = {
  text: string
  /** The name for an agent that gives none: the file's, without its ending. */
  fallbackName: string
  format: AgentFormat
  source: AgentDefinition['source']
}

/** An agent out of its file. `disabled`: it only hides others of its name. */
export type ParsedAgent = { agent: AgentDefinition; disabled: boolean; warnings: Warning[] }

const readingTools: Field = { written: 'tools', value: ['read', 'glob', 'grep'], line: 1 }

/** Parses one agent file. Throws a `DefinitionError` for one that is broken, or unclear about what it forbids. */
export function parseAgent({ text, fallbackName, format, source }: AgentText): ParsedAgent {
  if (text.trim() === '') refuse('The file is empty. Write a prompt, and above it frontmatter with a description.', 1)
  const { found, fields, body, warnings } = parseFrontmatter(text)
  const prompt = body.trim()
  const name = nameOf(fields, fallbackName)
  if (!found)
    warnings.push({
      message: 'No frontmatter: the agent may only read. Add description: and tools: between lines ---.',
      line: 1,
    })
  const assembled = assembleAgent({
    fields: found ? fields : new Map([['tools', readingTools]]),
    name,
    description: descriptionOf(fields, body) || name,
    prompt,
    format,
    source,
  })
  return { ...assembled, warnings: [...warnings, ...assembled.warnings] }
}
