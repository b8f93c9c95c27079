import type { Rule } from '../core/permission.ts'
import type { Verdict } from './resolve-rules.ts'

/**
 * One thing that a request wants, as judged by the rules. `why`: what else there is to say of it than the rule. `grant`:
 * what an "always" to it alone would store; `spelled`: found under another spelling, to restrict only.
 */
export type Part = {
  key: string
  pattern: string
  verdict: Verdict
  why?: string | undefined
  grant?: Rule | undefined
  spelled?: true
  /** It would run without the sandbox that the user asked for: no mode answers this. */
  unconfined?: true
}
