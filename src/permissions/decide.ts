import type { SandboxLeave } from '../core/messages.ts'
import type { Action, AgentLevel, JudgedUnit, PermissionMode, PermissionRequest, Rule } from '../core/permission.ts'
import type { RunSettings } from '../core/settings.ts'
import { confine, leaveOf } from './confine.ts'
import { grantFor, storedWords } from './grants.ts'
import { deniedText } from './headless.ts'
import { type CommandJudge, judgeCommand } from './judge-command.ts'
import type { Part } from './judged-part.ts'
import { isProtected } from './protected-path.ts'
import { createRuleBook, type RuleBook, stricter } from './resolve-rules.ts'
import { trimBlanks } from './shell/trim-blanks.ts'

/**
 * What is to happen with a request. `reason`: for a denial, the text for the model; else a short phrase for people.
 * `grant`: the rule that an "always" would store. `unasked`: denied because nobody could be asked, by no rule. `units`:
 * all that was judged, in order.
 */
export type Decision = {
  action: Action
  reason: string
  grant?: Rule
  unasked?: true
  units?: JudgedUnit[]
  /** For a command in a sandbox: how much wider that is for it, once it is allowed or answered with yes. */
  leave?: SandboxLeave
}

export type DeciderOptions = {
  settings: Pick<RunSettings, 'permissionMode' | 'rules' | 'sandbox'>
  agentRules: Rule[]
  /** Of the agents above it, the root's first: it may do no more than each of them. */
  above?: AgentLevel[]
  grants: Rule[]
  /** The worktree, absolute. */
  dir: string
  /** True when the agent's own rules may allow what the run would ask: built in, the user's, given in code, or trusted. */
  agentMayLoosen: boolean
}

// Linux takes no argument of 128 KB or more.
const maxArgument = 128 * 1024 - 1

export type Decide = (request: PermissionRequest) => Decision

/**
 * Decides requests of one session. Holds no resources; make a new one when grants change. Commands are understood once
 * `loadShellParser` has resolved; before that each asks.
 */
export function createDecider(options: DeciderOptions): Decide {
  const { settings, agentRules, above = [], grants, dir, agentMayLoosen } = options
  const levels = [...above, { rules: agentRules, mayLoosen: agentMayLoosen }]
  const answers = grants.map(storedWords)
  const book = createRuleBook([...settings.rules, ...grants.filter((_, n) => answers[n] === undefined)], levels)
  const judge = (key: string, pattern: string, guarded?: boolean) => judgeOther(book, key, pattern, guarded)
  const commands = { book, answers: answers.filter((answer) => answer !== undefined), dir, judgeOther: judge }
  return (request) => {
    const impossible = request.key === 'bash' ? findImpossible(request.pattern) : undefined
    if (impossible !== undefined) return refuse(impossible)
    const judged = judgeAll(commands, request)
    const eased = settings.permissionMode === 'edits' ? judged.map(easeEdit) : judged
    const sandbox = request.key === 'bash' ? settings.sandbox : undefined
    const parts = sandbox === undefined ? eased : confine(sandbox, eased)
    const decision = { ...conclude(request, parts, settings.permissionMode), units: parts.map(unitOf) }
    return sandbox === undefined
      ? decision
      : { ...decision, leave: leaveOf(sandbox, parts, dir, decision.action === 'ask') }
  }
}

/** What no shell could be handed. */
function findImpossible(command: string): string | undefined {
  if (command.length > maxArgument) return 'a command this long cannot be run; write it to a script file and run that'
  return command.includes('\0') ? 'a command cannot hold a NUL character' : undefined
}

function judgeAll(commands: CommandJudge, request: PermissionRequest): Part[] {
  const { key, pattern, outside, claim, guarded } = request
  const { judgeOther } = commands
  const parts = key === 'bash' ? judgeCommand(commands, request) : [judgeOther(key, pattern, guarded)]
  if (outside !== undefined) parts.push(judgeOther('external_directory', outside))
  if (claim !== undefined) parts.push({ ...judgeOther('claim', pattern), why: claim })
  return parts
}

/** A protected file is asked about whatever the rules allow; the other parts of a request say nothing of it. */
function judgeOther(book: RuleBook, key: string, pattern: string, guarded?: boolean): Part {
  const isGuarded = key === 'edit' && (guarded === true || isProtected(pattern))
  if (!isGuarded) return { key, pattern, verdict: book.resolve(key, pattern), grant: grantFor(key, pattern) }
  const verdict = book.resolve(key, pattern, { admits: () => false })
  return { key, pattern, verdict, why: `${pattern} makes other programs run commands` }
}

function conclude(request: PermissionRequest, parts: Part[], mode: PermissionMode): Decision {
  const action = parts.map(({ verdict }) => verdict.action).reduce(stricter)
  const part = parts.find(({ verdict }) => verdict.action === action)!
  const reason = phrase(part)
  if (action === 'deny') return refuse(reason)
  if (action === 'ask') return concludeAsk(request, parts, part, mode)
  return mode === 'strict' && parts.some(hasEffect)
    ? { action: 'ask', reason: 'in this mode each is asked' }
    : { action, reason }
}

function concludeAsk(request: PermissionRequest, parts: Part[], part: Part, mode: PermissionMode): Decision {
  const isAnswered = mode === 'allow' && !parts.some(({ unconfined }) => unconfined)
  if (isAnswered) return { action: 'allow', reason: 'the mode allow' }
  if (mode === 'deny') return { action: 'deny', reason: deniedText(part), unasked: true }
  const grant = mode === 'strict' ? undefined : grantOf(request, parts)
  return { action: 'ask', reason: phrase(part), ...(grant && { grant }) }
}

/** One stored rule answers one question: where several commands ask, it is about exactly this line. */
function grantOf({ pattern }: PermissionRequest, parts: Part[]): Rule | undefined {
  const asking = parts.filter(({ verdict }) => verdict.action === 'ask')
  const [first] = asking
  if (asking.some(({ key, spelled }) => key !== first?.key || spelled)) return undefined
  if (asking.every(({ grant }) => grant?.pattern === first?.grant?.pattern)) return first?.grant
  return first?.key === 'bash' ? grantFor('bash', trimBlanks(pattern)) : undefined
}

/** In the mode `edits` what would be asked of an edit is allowed; what lies outside or is claimed asks by itself. */
function easeEdit(part: Part): Part {
  const { key, verdict, why } = part
  const isEasy = key === 'edit' && verdict.action === 'ask' && why === undefined
  return isEasy ? { ...part, verdict: { action: 'allow' }, why: 'the mode edits' } : part
}

function hasEffect({ key, verdict }: Part): boolean {
  if (key === 'bash') return verdict.rule?.source !== 'default'
  return key !== 'read' && key !== 'skill' && key !== 'task'
}

function unitOf(part: Part): JudgedUnit {
  const { key, pattern, verdict, grant, spelled } = part
  const { action, rule } = verdict
  const stores = action === 'ask' && !spelled ? grant : undefined
  return { key, pattern, action, reason: phrase(part), ...(rule && { rule }), ...(stores && { grant: stores }) }
}

function refuse(why: string): Decision {
  return { action: 'deny', reason: `Denied: ${why}; nobody was asked.` }
}

function phrase({ verdict: { rule, action }, why }: Part): string {
  if (action !== 'deny' && why !== undefined) return why
  if (rule === undefined) return 'no rule matches'
  return `the rule ${rule.key} "${rule.pattern}" (${rule.source}) says ${action}`
}
