import type { JudgedUnit, Rule } from '../core/permission.ts'
import { matches } from './wildcard.ts'

/** A waiting question: what of it was judged, and what an "always" to it would store; older journals hold the latter only. */
export type WaitingAsk = { units?: JudgedUnit[]; grant?: Rule }

/**
 * True when stored answers alone allow all that a waiting question asks about: for each part there is one that is what an
 * "always" to that part would store, or wider. Parts that can only be answered each time are never granted.
 */
export function isGranted(grants: Rule[], { units = [], grant }: WaitingAsk): boolean {
  const isGiven = (wanted: Rule | undefined) => wanted !== undefined && grants.some((given) => contains(given, wanted))
  const asking = units.filter(({ action }) => action === 'ask')
  return isGiven(grant) || (asking.length > 0 && asking.every((unit) => isGiven(unit.grant)))
}

function contains(given: Rule, wanted: Rule): boolean {
  if (given.key !== wanted.key || given.action !== 'allow') return false
  if (given.key === 'bash') return given.pattern === wanted.pattern && given.more === wanted.more
  return matches(given.pattern, wanted.pattern)
}
