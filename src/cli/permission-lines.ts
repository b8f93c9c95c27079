import type { AgentDefinition, Explained, Rule, StoredAnswer, Troupe } from '../index.ts'
import { oneLine, spellOut } from './terminal/sanitize.ts'
import { tableLines } from './terminal/table.ts'

/** A rule as it is listed: `agent` names the one whose file it stands in, `path` and `line` where. */
export type RuleRow = {
  scope: string
  agent?: string
  key: string
  pattern: string
  action: string
  path?: string
  line?: number
}

/** An answer as it is listed: `n` is what `remove` takes, `at` milliseconds since 1970. */
export type AnswerRow = { n: number; key: string; pattern: string; at: number; about: string }

/** All rules in force, the widest scope first; `agent`: of agents only this one's. */
export function ruleRows({ permissions, agents }: Pick<Troupe, 'permissions' | 'agents'>, agent?: string): RuleRow[] {
  const shown = agents.filter(({ name }) => agent === undefined || name === agent)
  return [...permissions.rules.map((rule) => ruleRow(rule)), ...shown.flatMap(agentRows)]
}

export function answerRows(answers: StoredAnswer[]): AnswerRow[] {
  return answers.map(({ rule: { key, pattern }, at, about }, n) => ({ n: n + 1, key, pattern, at, about }))
}

export function rulesTable(rows: RuleRow[], columns: number): string[] {
  const cells = rows.map((row) => {
    const scope = row.agent === undefined ? row.scope : `agent ${row.agent}`
    return [scope, row.key, row.pattern, row.action, placeOf(row)]
  })
  return tableLines(['SCOPE', 'KEY', 'PATTERN', 'ACTION', 'WHERE'], cells, columns)
}

export function answersTable(rows: AnswerRow[], columns: number): string[] {
  const cells = rows.map(({ n, key, pattern, at, about }) => {
    return [String(n), key, pattern, new Date(at).toISOString().slice(0, 10), about]
  })
  return tableLines(['ANSWER', 'KEY', 'PATTERN', 'GIVEN', 'TO'], cells, columns)
}

/** What an explanation says: the decision, each unit with its reason and the rule that decided it, what "always" would store. */
export function explainedLines({ decision, reason, units, always }: Explained, text: string): string[] {
  return [
    `${decision}: ${shown(text)}`,
    `  because: ${oneLine(reason)}`,
    ...units.flatMap((unit) => {
      const { rule } = unit
      const place = rule?.place === undefined ? '' : ` [${oneLine(placeOf({ ...rule.place }))}]`
      return [`  ${unit.action}: ${unit.key} ${shown(unit.pattern)} (${oneLine(unit.reason)})${place}`]
    }),
    ...(decision !== 'ask'
      ? []
      : [always ? `  always stores: ${oneLine(`${always.key}:${always.pattern}`)}` : '  always: not offered']),
  ]
}

/** The same as data: rules as they are listed. */
export function explainedData({ decision, reason, units, always }: Explained) {
  const shownUnits = units.map(({ rule, action, ...unit }) => ({
    ...unit,
    decision: action,
    ...(rule && { rule: ruleRow(rule) }),
  }))
  return { decision, reason, units: shownUnits, ...(always && { always }) }
}

function agentRows({ name, permission }: AgentDefinition): RuleRow[] {
  return permission.map((rule) => ({ ...ruleRow(rule), scope: 'agent', agent: name }))
}

function ruleRow({ source, key, pattern, action, place }: Rule): RuleRow {
  const scope = source === 'session' ? 'answer' : source
  return { scope, key, pattern, action, ...place }
}

function placeOf({ path, line }: { path?: string; line?: number }): string {
  if (path === undefined) return '-'
  return line === undefined ? path : `${path}:${line}`
}

function shown(text: string): string {
  return spellOut(text).replaceAll('\n', '\\n')
}
