import type { PermissionAsk } from '../../core/events.ts'
import type { AskAnswer } from '../../core/permission.ts'
import { wrap } from '../terminal/display-width.ts'
import { oneLine, spellOut } from '../terminal/sanitize.ts'
import type { Style } from '../terminal/style.ts'

/** Details longer than this are shown in part until the person asks for all. */
export const shownDetailLines = 60
const shownUnits = 40

export type AskBlockOptions = { columns: number; style: Style; whole: boolean }

/**
 * What a person is shown before deciding: who asks, and the command or diff with every character of it visible. Lines
 * fit into `columns`.
 */
export function askBlock(ask: PermissionAsk, { columns, style, whole }: AskBlockOptions): string[] {
  const detail = spellOut(ask.detail).split('\n')
  const shown = whole || detail.length <= shownDetailLines ? detail : detail.slice(0, shownDetailLines)
  const left = detail.length - shown.length
  return [
    '',
    ...wrap(`${asker(ask)} asks: ${oneLine(ask.title)}`, columns - 1).map(style.bold),
    ...shown.flatMap((line) => detailLines(line, ask.kind === 'edit', columns, style)),
    ...(left > 0 ? [style.yellow(`  … ${left} more lines: v shows them`)] : []),
    ...reasonLines(ask).flatMap((line) => wrap(line, columns - 1)),
    '',
    ...choices(ask, left > 0).flatMap((line) => wrap(line, columns - 1)),
  ]
}

/** `tell`: the person wants to say why not; `view`: to see all of a long detail. */
export type AskChoice = { answer: AskAnswer } | 'tell' | 'view' | undefined

/** What was typed, as a choice that this ask offers; anything else is none, never a yes. */
export function parseChoice(typed: string, ask: PermissionAsk): AskChoice {
  switch (typed.trim().toLowerCase()) {
    case 'y':
    case 'yes':
      return { answer: { decision: 'once' } }
    case 'n':
    case 'no':
      return { answer: { decision: 'reject' } }
    case 'a':
    case 'always':
      return ask.always === undefined ? undefined : { answer: { decision: 'always' } }
    case 'p':
    case 'project':
      return offersProject(ask) ? { answer: { decision: 'always', scope: 'project' } } : undefined
    case 't':
    case 'tell':
      return 'tell'
    case 'v':
    case 'view':
      return 'view'
    default:
      return undefined
  }
}

/** `exp-1 (explorer, depth 1)`, or `lead` for the root. */
export function asker({ agent, alias, depth }: Pick<PermissionAsk, 'agent' | 'alias' | 'depth'>): string {
  const name = oneLine(agent)
  return alias === undefined ? `${name} (depth ${depth})` : `${oneLine(alias)} (${name}, depth ${depth})`
}

function offersProject({ always, scopes }: PermissionAsk): boolean {
  return always !== undefined && scopes?.includes('project') === true
}

/** Why it is asked, and all that was judged: a tail that has scrolled away is named here. */
function reasonLines({ reason, units = [] }: PermissionAsk): string[] {
  const shown = units.slice(0, shownUnits).map((unit) => `    ${spellOut(unit).replaceAll('\n', '\\n')}`)
  const left = units.length - shown.length
  return [
    ...(reason === undefined ? [] : [`  because: ${oneLine(reason)}`]),
    ...shown,
    ...(left > 0 ? [`    … and ${left} more`] : []),
  ]
}

function choices(ask: PermissionAsk, cut: boolean): string[] {
  return [
    '  y  yes, this once',
    '  n  no',
    '  t  no, and tell why',
    ...(ask.always === undefined ? [] : [`  a  always; stores for this run: ${oneLine(ask.always)}`]),
    ...(offersProject(ask) ? ['  p  always in this project, later runs too'] : []),
    ...(cut ? ['  v  view all of it'] : []),
  ]
}

function detailLines(line: string, isDiff: boolean, columns: number, style: Style): string[] {
  const paint = isDiff ? diffPaint(line, style) : (text: string) => text
  return wrap(line.replaceAll('\t', '    '), columns - 3).map((part) => `  ${paint(part)}`)
}

function diffPaint(line: string, style: Style): (text: string) => string {
  if (line.startsWith('+++') || line.startsWith('---')) return style.bold
  if (line.startsWith('@@')) return style.cyan
  if (line.startsWith('+')) return style.green
  return line.startsWith('-') ? style.red : (text) => text
}
