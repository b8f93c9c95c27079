import { join } from 'node:path'
import type { SandboxLeave } from '../core/messages.ts'
import type { SandboxSettings } from '../core/settings.ts'
import type { Part } from './judged-part.ts'
import { isProtected } from './protected-path.ts'
import { isBare } from './resolve-rules.ts'
import { findNeed } from './sandbox-needs.ts'

/**
 * What becomes of a command's parts where commands run in a sandbox. What stays inside it may run without a question, if
 * the user chose so; what needs more asks, unless a rule allows it by name. Without the sandbox that is asked for,
 * everything asks. Denials stay.
 */
export function confine(sandbox: SandboxSettings, parts: Part[]): Part[] {
  if (sandbox.unusable !== undefined) return parts.map((part) => askWithout(part, sandbox.unusable!))
  return parts.map((part) => {
    const need = needOf(sandbox, part)
    if (need !== undefined) return isNamed(part) ? part : asking(part, need)
    return sandbox.runsUnasked && isEasy(sandbox, part) ? allowed(part) : part
  })
}

/** How much wider the sandbox is for a command of these parts: by what a rule allows by name, or a person by a yes to all. */
export function leaveOf(sandbox: SandboxSettings, parts: Part[], dir: string, byPerson: boolean): SandboxLeave {
  const counted = parts.filter((part) => byPerson || isNamed(part))
  const needs = counted.map((part) => (part.key === 'bash' ? findNeed(part.pattern) : undefined))
  const paths = counted.filter((part) => part.key !== 'bash' && needOf(sandbox, part) !== undefined)
  return {
    ...(needs.some((need) => need?.network) && { network: true }),
    ...(needs.some((need) => need?.git) && { git: true }),
    ...(paths.length > 0 && { paths: paths.map(({ pattern }) => join(pattern.startsWith('/') ? '/' : dir, pattern)) }),
  }
}

/** Why a part leads out of the sandbox. */
function needOf(sandbox: SandboxSettings, { key, pattern }: Part): string | undefined {
  if (key === 'external_directory') return `${pattern} lies outside the worktree; a yes makes it writable`
  if (key === 'edit' && isProtected(pattern)) return `${pattern} is protected; a yes makes it writable`
  if (key === 'edit' && sandbox.mode === 'read-only')
    return `the sandbox keeps ${pattern} read-only; a yes makes it writable`
  if (key !== 'bash') return undefined
  const need = findNeed(pattern)
  return need === undefined || (need.network && !need.git && sandbox.network) ? undefined : need.why
}

/** Allowed by a rule that says what it is about: a bare star allows what the sandbox holds, and no more. */
function isNamed({ verdict: { action, rule } }: Part): boolean {
  return action === 'allow' && rule !== undefined && rule.source !== 'default' && !isBare(rule)
}

function isEasy({ mode }: SandboxSettings, { key, verdict, spelled }: Part): boolean {
  if (verdict.action !== 'ask' || spelled) return false
  const { rule } = verdict
  const isDefault = rule === undefined || rule.source === 'default' || (rule.source === 'user' && isBare(rule))
  return isDefault && (key === 'bash' || (key === 'edit' && mode === 'workspace-write'))
}

function allowed(part: Part): Part {
  return { ...part, verdict: { action: 'allow' }, why: 'it runs in the sandbox' }
}

function asking(part: Part, why: string): Part {
  return part.verdict.action === 'deny' ? part : { ...part, verdict: { action: 'ask' }, why }
}

function askWithout(part: Part, problem: string): Part {
  return part.key === 'bash' ? { ...asking(part, `there is no sandbox: ${problem}`), unconfined: true } : part
}
