import { resolve } from 'node:path'
import type { PermissionRequest, Rule } from '../core/permission.ts'
import { createDecider } from './decide.ts'
import { isInside } from './path-gate.ts'

/**
 * True when stored answers alone allow what a waiting question is about, in the worktree `dir`. By the same judgement as
 * `createDecider`: a star never crosses a shell operator, and what leads outside the worktree needs an answer of its own.
 */
export function isGranted(grants: Rule[], { key, pattern }: PermissionRequest, dir: string): boolean {
  const decide = createDecider({
    settings: { permissionMode: 'ask', rules: [{ key: '*', pattern: '*', action: 'ask', source: 'user' }] },
    agentRules: [],
    grants: grants.map((rule) => ({ ...rule, source: 'session' })),
    dir,
    agentMayLoosen: false,
  })
  const isClaim = key === 'claim'
  const isPath = key === 'read' || key === 'edit' || isClaim
  const outside = isPath && !isInside(pattern, dir) ? resolve(dir, pattern) : undefined
  // A write against a claim is an edit too, and needs both answers.
  if (isClaim) return decide({ key: 'edit', pattern, outside, claim: key }).action === 'allow'
  return decide({ key, pattern, outside }).action === 'allow'
}
