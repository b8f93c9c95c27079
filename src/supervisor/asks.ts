import { messageOf, RuntimeError } from '../core/errors.ts'
import type { PermissionAsk } from '../core/events.ts'
import type { AskId } from '../core/ids.ts'
import type { AskAnswer, Rule } from '../core/permission.ts'
import type { JournalRecord } from '../core/records.ts'
import { deniedText } from '../permissions/headless.ts'
import { isGranted } from '../permissions/is-granted.ts'
import type { Kernel } from './kernel.ts'
import type { SessionEntry } from './session-entry.ts'

type Asked = Extract<JournalRecord, { type: 'ask.requested' }>
type Resolver = 'person' | 'policy' | 'grant' | 'withdrawn'

/** Permission questions: journaled before they are shown, decided once, from any depth to the root's front end. */
export type Asks = {
  /** Takes a question from a session's journal: decides it at once where nobody is to be asked. */
  open(entry: SessionEntry, asked: Asked): void
  /** The first valid answer wins; later ones, and those for a call that is over, find it gone. Throws `bad-answer`. */
  answer(id: AskId, answer: AskAnswer): 'accepted' | 'gone'
  pending(): PermissionAsk[]
  /** Takes back what a session had asked. */
  withdraw(entry: SessionEntry): void
  /** How many were denied in a root's tree without a person. */
  deniedIn(root: string): number
  forget(root: string): void
}

export function createAsks(kernel: Kernel): Asks {
  const pending = new Map<AskId, { entry: SessionEntry; asked: Asked; shown: PermissionAsk }>()
  const denied = new Map<string, number>()

  function open(entry: SessionEntry, asked: Asked): void {
    const shown = describe(entry, asked)
    kernel.emit(entry, { type: 'permission.requested', ...shown })
    pending.set(asked.id, { entry, asked, shown })
    kernel.deadlines.pause(entry)
    if (isGranted(rootOf(entry).grants, asked, entry.seed.dir)) resolve(asked.id, { decision: 'once' }, 'grant')
    else if (!kernel.options.onAsk || kernel.options.permissionMode === 'deny') denyUnasked(entry, asked)
    else void askPerson(kernel.options.onAsk, shown)
  }

  async function askPerson(onAsk: (ask: PermissionAsk) => Promise<AskAnswer>, shown: PermissionAsk): Promise<void> {
    try {
      const answer = parseAnswer(await onAsk(shown))
      resolve(shown.id, answer, 'person')
    } catch (thrown) {
      const text = `The question could not be put: ${messageOf(thrown)}`
      if (pending.has(shown.id)) resolve(shown.id, { decision: 'reject', text }, 'policy')
    }
  }

  function denyUnasked(entry: SessionEntry, asked: Asked): void {
    const { root } = entry.seed
    denied.set(root, (denied.get(root) ?? 0) + 1)
    resolve(asked.id, { decision: 'reject', text: deniedText(asked) }, 'policy')
  }

  function resolve(id: AskId, answer: AskAnswer, by: Resolver): 'accepted' | 'gone' {
    const found = pending.get(id)
    if (!found) return 'gone'
    pending.delete(id)
    const { entry, asked } = found
    kernel.deadlines.resume(entry)
    kernel.record(entry, [{ type: 'ask.resolved', id, call: asked.call, answer, by }])
    if (answer.decision === 'always' && asked.grant) grant(rootOf(entry), asked.grant)
    kernel.placement.wake(entry)
    return 'accepted'
  }

  /** Stores a rule for the tree and lets it answer what else is pending there. */
  function grant(root: SessionEntry, rule: Rule): void {
    kernel.record(root, [{ type: 'grant.added', rule: { ...rule, source: 'session' } }])
    for (const [id, { entry, asked }] of [...pending]) {
      if (rootOf(entry) === root && isGranted([rule], asked, entry.seed.dir)) resolve(id, { decision: 'once' }, 'grant')
    }
  }

  function rootOf(entry: SessionEntry): SessionEntry {
    return kernel.entry(entry.seed.root)
  }

  return {
    open,
    answer: (id, answer) => resolve(id, parseAnswer(answer), 'person'),
    pending: () => [...pending.values()].map(({ shown }) => shown),
    withdraw(entry) {
      for (const [id, found] of [...pending]) {
        if (found.entry !== entry) continue
        pending.delete(id)
        kernel.deadlines.resume(entry)
        const { sessionId } = found.shown
        kernel.emit(entry, { type: 'permission.resolved', id, sessionId, decision: 'reject', by: 'withdrawn' })
      }
    },
    deniedIn: (root) => denied.get(root) ?? 0,
    forget: (root) => void denied.delete(root),
  }
}

/** Answers come from code of others: nothing else of them may reach a journal. */
function parseAnswer(given: unknown): AskAnswer {
  const { decision, text }: { decision?: unknown; text?: unknown } = Object(given)
  if (decision !== 'once' && decision !== 'always' && decision !== 'reject') {
    const message = `An answer to a permission question needs decision "once", "always" or "reject", not ${JSON.stringify(decision)}.`
    throw new RuntimeError('bad-answer', message)
  }
  return { decision, ...(typeof text === 'string' && { text }) }
}

function describe({ seed }: SessionEntry, { id, kind, title, detail, grant }: Asked): PermissionAsk {
  const alias = seed.parent?.alias
  return {
    id,
    sessionId: seed.session,
    kind,
    title,
    detail,
    agent: seed.agent.name,
    depth: seed.depth,
    ...(alias && { alias }),
    ...(grant && { always: `${grant.key}:${grant.pattern}` }),
  }
}
