import { messageOf, RuntimeError } from '../core/errors.ts'
import type { PermissionAsk } from '../core/events.ts'
import type { AskId } from '../core/ids.ts'
import type { AskAnswer, GrantScope, JudgedUnit, Rule } from '../core/permission.ts'
import type { JournalRecord } from '../core/records.ts'
import { deniedText, unansweredText, untrustedText } from '../permissions/headless.ts'
import { isGranted } from '../permissions/is-granted.ts'
import type { Kernel } from './kernel.ts'
import type { SessionEntry } from './session-entry.ts'

type Asked = Extract<JournalRecord, { type: 'ask.requested' }>
type Resolver = 'person' | 'policy' | 'grant' | 'withdrawn'
type Pending = { entry: SessionEntry; asked: Asked; shown: PermissionAsk; stop?: () => void }

/** How a question was decided. */
export type Decided = { decision: AskAnswer['decision']; by: Resolver }

/** The key of a question that no one can say yes to: the folder of its agent is not trusted. */
const untrustedKey = 'trust'

/** Permission questions: journaled before they are shown, decided once, from any depth to the root's front end. */
export type Asks = {
  /** Takes a question from a session's journal: decides it at once where nobody is to be asked. */
  open(entry: SessionEntry, asked: Asked): void
  /** The first valid answer wins; later ones, and those for a call that is over, find it gone. Throws `bad-answer`. */
  answer(id: AskId, answer: AskAnswer): 'accepted' | 'gone'
  /** How a question of a run that is not over was decided; `undefined`: it is open, or unknown. */
  decided(id: AskId): Decided | undefined
  pending(): PermissionAsk[]
  /** Takes back what a session had asked. */
  withdraw(entry: SessionEntry): void
  /** How many were denied in a root's tree without a person. */
  deniedIn(root: string): number
  forget(root: string): void
  close(): void
}

export function createAsks(kernel: Kernel): Asks {
  const pending = new Map<AskId, Pending>()
  const decided = new Map<AskId, Decided>()
  const denied = new Map<string, number>()
  const { options, clock } = kernel
  const isHeadless = options.permissionMode === 'deny' || (!options.onAsk && !options.keepAsks)

  function open(entry: SessionEntry, asked: Asked): void {
    const shown = describe(entry, asked, options.answers !== undefined)
    kernel.emit(entry, { type: 'permission.requested', ...shown })
    const found: Pending = { entry, asked, shown }
    pending.set(asked.id, found)
    kernel.deadlines.pause(entry)
    if (asked.key === untrustedKey) denyUnasked(found, untrustedText(asked.pattern))
    else if (isGrantedBefore(entry, asked)) resolve(asked.id, { decision: 'once' }, 'grant')
    else if (isHeadless) denyUnasked(found, deniedText(asked))
    else askPeople(found)
  }

  /** In mode `strict` each is asked, whatever was stored before. */
  function isGrantedBefore(entry: SessionEntry, asked: Asked): boolean {
    return options.permissionMode !== 'strict' && isGranted(kernel.grantsOf(entry), asked)
  }

  function askPeople(found: Pending): void {
    const { askTimeoutMs, onAsk } = options
    if (askTimeoutMs !== undefined) {
      found.stop = clock.after(askTimeoutMs, () => denyUnasked(found, unansweredText(found.asked, askTimeoutMs)))
    }
    if (onAsk) void askPerson(onAsk, found.shown)
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

  function denyUnasked({ entry, asked }: Pending, text: string): void {
    const { root } = entry.seed
    denied.set(root, (denied.get(root) ?? 0) + 1)
    resolve(asked.id, { decision: 'reject', text }, 'policy')
  }

  function resolve(id: AskId, given: AskAnswer, by: Resolver): 'accepted' | 'gone' {
    const found = pending.get(id)
    if (!found) return 'gone'
    const { entry, asked } = found
    const answer = stored(given, asked)
    close(found, { decision: answer.decision, by })
    kernel.record(entry, [{ type: 'ask.resolved', id, call: asked.call, answer, by }])
    if (answer.decision === 'always' && asked.grant) grant(rootOf(entry), asked.grant, answer.scope)
    kernel.placement.wake(entry)
    return 'accepted'
  }

  /** What an answer comes to: "always" only where something can be stored, and for the project only where it is. */
  function stored({ decision, scope, text }: AskAnswer, { grant, detail }: Asked): AskAnswer {
    const words = text === undefined ? {} : { text }
    if (decision !== 'always') return { decision, ...words }
    if (!grant || options.permissionMode === 'strict') return { decision: 'once', ...words }
    if (scope !== 'project' || !options.answers) return { decision, scope: 'session', ...words }
    options.answers.add({ rule: { ...grant, source: 'session' }, at: clock.now(), about: detail })
    return { decision, scope, ...words }
  }

  /** Stores a rule for the tree, unless the project keeps it, and lets it answer what else it matches. */
  function grant(root: SessionEntry, rule: Rule, scope: GrantScope = 'session'): void {
    if (scope === 'session') kernel.record(root, [{ type: 'grant.added', rule: { ...rule, source: 'session' } }])
    for (const [id, { entry, asked }] of [...pending]) {
      const isReached = scope === 'project' || rootOf(entry) === root
      if (isReached && isGranted([...kernel.grantsOf(entry), rule], asked)) resolve(id, { decision: 'once' }, 'grant')
    }
  }

  function rootOf(entry: SessionEntry): SessionEntry {
    return kernel.entry(entry.seed.root)
  }

  function close({ entry, asked, stop }: Pending, how: Decided): void {
    pending.delete(asked.id)
    decided.set(asked.id, how)
    stop?.()
    kernel.deadlines.resume(entry)
  }

  return {
    open,
    answer: (id, answer) => resolve(id, parseAnswer(answer), 'person'),
    decided: (id) => decided.get(id),
    pending: () => [...pending.values()].map(({ shown }) => shown),
    withdraw(entry) {
      for (const [id, found] of [...pending]) {
        if (found.entry !== entry) continue
        close(found, { decision: 'reject', by: 'withdrawn' })
        const { sessionId } = found.shown
        kernel.emit(entry, { type: 'permission.resolved', id, sessionId, decision: 'reject', by: 'withdrawn' })
      }
    },
    deniedIn: (root) => denied.get(root) ?? 0,
    forget(root) {
      denied.delete(root)
      for (const id of [...decided.keys()]) if (isOfRoot(id, root)) decided.delete(id)
    },
    close() {
      for (const { stop } of pending.values()) stop?.()
    },
  }
}

/** Sessions of a tree are named after its root: `root`, `root-exp-1`. */
function isOfRoot(id: AskId, root: string): boolean {
  return id.startsWith(`${root}/`) || id.startsWith(`${root}-`)
}

/** Answers come from code of others: nothing else of them may reach a journal. */
function parseAnswer(given: unknown): AskAnswer {
  const { decision, scope, text }: { decision?: unknown; scope?: unknown; text?: unknown } = Object(given)
  if (decision !== 'once' && decision !== 'always' && decision !== 'reject') {
    const message = `An answer to a permission question needs decision "once", "always" or "reject", not ${JSON.stringify(decision)}.`
    throw new RuntimeError('bad-answer', message)
  }
  if (scope !== undefined && scope !== 'session' && scope !== 'project') {
    const message = `The scope of an "always" is "session" or "project", not ${JSON.stringify(scope)}.`
    throw new RuntimeError('bad-answer', message)
  }
  return { decision, ...(scope && { scope }), ...(typeof text === 'string' && { text }) }
}

function describe({ seed }: SessionEntry, asked: Asked, keepsAnswers: boolean): PermissionAsk {
  const { id, kind, title, detail, grant, reason, units } = asked
  const alias = seed.parent?.alias
  const scopes: GrantScope[] = keepsAnswers ? ['session', 'project'] : ['session']
  return {
    id,
    sessionId: seed.session,
    kind,
    title,
    detail,
    agent: seed.agent.name,
    depth: seed.depth,
    ...(alias && { alias }),
    ...(reason && { reason }),
    ...(units && { units: units.map(unitLine) }),
    ...(grant && { always: `${grant.key}:${grant.pattern}`, scopes }),
  }
}

function unitLine({ key, pattern, action, reason }: JudgedUnit): string {
  return `${action}: ${key} ${pattern} (${reason})`
}
