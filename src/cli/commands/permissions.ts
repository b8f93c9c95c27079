import { Argument } from 'commander'
import { RuntimeError } from '../../core/errors.ts'
import type { StoredAnswer, Troupe } from '../../index.ts'
import { columnsOf, type Io, printJson, printLines } from '../io.ts'
import { addWorkspaceOptions, countFromZero, type WorkspaceOptions } from '../options.ts'
import { answerRows, answersTable, explainedData, explainedLines, ruleRows, rulesTable } from '../permission-lines.ts'
import { reportDiagnostics } from '../run/run-lines.ts'
import { oneLine } from '../terminal/sanitize.ts'
import { withoutModel, withTroupe } from '../with-troupe.ts'
import type { AddCommand } from './context.ts'

type Options = WorkspaceOptions & { json?: boolean; agent?: string; key?: string; depth: number }

/** `troupe permissions`: what is allowed, why, and what was answered for good. */
export const addPermissions: AddCommand = (program, { io }) => {
  const command = program
    .command('permissions')
    .description('list the rules in force and the stored answers; explain what they come to; remove answers')
    .addArgument(new Argument('[action]', 'instead of listing').choices(['explain', 'remove']))
    .argument('[what...]', "to explain: a command, or what --key names; to remove: an answer's number, or KEY:PATTERN")
    .option('--key <key>', 'what is to be explained: bash, read, edit, webfetch, task, skill, mcp, external_directory')
    .option(
      '--agent <name>',
      'agent that is asked about (default: lead); of the rules of agents only its own are listed',
    )
    .option('--depth <n>', 'explain for a sub-agent of lead, at this depth', countFromZero, 0)
    .option('--json', 'print JSON')
  addWorkspaceOptions(command).action((action: string | undefined, words: string[], options: Options) =>
    look(options, (troupe) => {
      requireAgent(troupe, options.agent)
      const what = words.join(' ')
      if (action === 'explain') return explain(io, troupe, what, options)
      return action === 'remove' ? remove(io, troupe, what, options) : list(io, troupe, options)
    }),
  )
}

async function look(options: Options, use: (troupe: Troupe) => void | Promise<void>): Promise<void> {
  const { dir, model, trust } = options
  const given = { ...(dir !== undefined && { dir }), ...(model !== undefined && { model }), ...(trust && { trust }) }
  await withTroupe({ ...withoutModel(given), keepAsks: true }, use)
}

function list(io: Io, troupe: Troupe, { json, agent }: Options): void {
  const rules = ruleRows(troupe, agent)
  const answers = answerRows(troupe.permissions.answers())
  reportDiagnostics(io, troupe.notes, troupe.diagnostics)
  if (json) return printJson(io, { rules, answers })
  const columns = columnsOf(io)
  const stored = answers.length === 0 ? ['No stored answers.'] : answersTable(answers, columns)
  printLines(io, [...rulesTable(rules, columns), '', ...stored])
}

async function explain(io: Io, troupe: Troupe, text: string, options: Options): Promise<void> {
  const { json, key, agent, depth } = options
  if (text.trim() === '') {
    throw new RuntimeError('bad-usage', "There is nothing to explain. Write: troupe permissions explain 'git push'")
  }
  const found = await troupe.permissions.explain({ text, key, agent, depth })
  if (json) return printJson(io, explainedData(found))
  printLines(io, explainedLines(found, text))
}

function remove(io: Io, { permissions }: Troupe, name: string, { json }: Options): void {
  if (name === '')
    throw new RuntimeError('bad-usage', 'Which answer? Write its number, or KEY:PATTERN: troupe permissions remove 1')
  const answers = permissions.answers()
  const found = findAnswer(answers, name)
  if (found === undefined) throw noAnswer(answers, name)
  permissions.remove([found])
  const { key, pattern } = found.rule
  if (json) return printJson(io, { removed: [{ key, pattern }] })
  printLines(io, [`Removed: ${oneLine(`${key}:${pattern}`)}`])
}

function findAnswer(answers: StoredAnswer[], name: string): StoredAnswer | undefined {
  if (/^\d+$/.test(name)) return answers[Number(name) - 1]
  return answers.find(({ rule: { key, pattern } }) => `${key}:${pattern}` === name)
}

function noAnswer(answers: StoredAnswer[], name: string): RuntimeError {
  const known = answers.map(({ rule: { key, pattern } }, n) => `${n + 1} ${key}:${pattern}`).join(', ')
  const hint = known === '' ? 'None is stored for this folder.' : `There are: ${oneLine(known)}.`
  return new RuntimeError('bad-usage', `There is no stored answer "${oneLine(name)}". ${hint}`)
}

function requireAgent({ agents }: Troupe, name: string | undefined): void {
  if (name === undefined || agents.some((agent) => agent.name === name)) return
  const known = agents.map((agent) => agent.name).join(', ')
  throw new RuntimeError('unknown-agent', `There is no agent "${oneLine(name)}". There are: ${known}.`)
}
