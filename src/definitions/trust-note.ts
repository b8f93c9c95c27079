import type { AgentDefinition } from '../core/agent.ts'
import type { TrustState } from './trust.ts'

/** What a run without trust does without. `narrowed`: agents of the folder that may only read. */
export type Untrusted = { worktree: string; unused?: string; narrowed: AgentDefinition[]; state: TrustState }

/** One line for people: what of a folder does not count, why, and what to do. `undefined` where nothing is lost. */
export function untrustedNote({ worktree, unused, narrowed, state: { changed } }: Untrusted): string | undefined {
  const names = narrowed.map(({ name }) => name).join(', ')
  const agents = narrowed.length === 0 ? [] : [`agents of this folder may only read (${names})`]
  const lost = [...(unused === undefined ? [] : [`${unused} is not used`]), ...agents]
  if (lost.length === 0) return undefined
  const why =
    changed.length === 0
      ? 'this folder is not trusted'
      : `since this folder was trusted, ${changed.slice(0, 5).join(', ')} changed`
  return `${lost.join(', and ')}: ${why}. Look at it, then: troupe trust ${worktree} (or --trust for one run).`
}
