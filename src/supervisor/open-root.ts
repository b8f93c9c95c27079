import type { AgentDefinition, AgentLimits } from '../core/agent.ts'
import { RuntimeError } from '../core/errors.ts'
import { newSessionId, parseSessionId, type SessionId } from '../core/ids.ts'
import type { RecordBody } from '../core/records.ts'
import type { Kernel } from './kernel.ts'
import { loadTree, textToGoOn } from './recover.ts'
import { newEntry, type SessionEntry } from './session-entry.ts'

/** What a run starts with. */
export type RunRequest = {
  /** Missing: only go on with what is open in the session. */
  prompt?: string
  agent: AgentDefinition
  model: string
  dir: string
  /** An existing root is continued, an unknown id is created. Missing: a new one. */
  session?: string
  limits?: AgentLimits
}

/** Root sessions, each owned by its lock from when it is opened. Close it. */
export type Roots = {
  /**
   * Creates, restores or finds the root that a request names, with what it is told in its mailbox; nothing is started.
   * `restored`: it was read from its journals just now. Throws `session-locked`, `session-busy`, `unknown-session`,
   * `not-a-root`, `journal-damaged`, `bad-usage` for one that works in another folder.
   */
  open(request: RunRequest): { entry: SessionEntry; restored: boolean }
  close(): void
}

export function createRoots(kernel: Kernel): Roots {
  const locks = new Map<SessionId, { release(): void }>()

  function open(request: RunRequest): { entry: SessionEntry; restored: boolean } {
    const session = request.session === undefined ? newSessionId() : parseSessionId(request.session)
    const known = kernel.entries.get(session)
    if (known?.seed.parent) throw notARoot(session)
    if (kernel.runs.has(session)) throw busy(session)
    if (known) return { entry: sayAgain(known, request), restored: false }
    if (kernel.store.findRoot(session) && kernel.store.findRoot(session) !== session) throw notARoot(session)
    locks.set(session, kernel.store.lockRoot(session))
    try {
      const entry = restored(session, request)
      return entry
        ? { entry: sayAgain(entry, request), restored: true }
        : { entry: created(session, request), restored: false }
    } catch (thrown) {
      forget(session)
      throw thrown
    }
  }

  function restored(session: SessionId, { dir }: RunRequest): SessionEntry | undefined {
    if (!kernel.store.exists({ root: session, session })) return undefined
    const root = loadTree(kernel, session)
    if (!root) throw headless(session)
    if (root.seed.dir !== dir) throw elsewhere(root, dir)
    return root
  }

  /** In one step with its prompt: a crash leaves both or nothing. */
  function created(session: SessionId, { prompt, agent, model, dir, limits }: RunRequest): SessionEntry {
    if (prompt === undefined) {
      throw new RuntimeError('unknown-session', `There is no session ${session}. List them: troupe sessions`)
    }
    const seed = { session, root: session, depth: 0, agent, model, dir, limits: { ...agent.limits, ...limits } }
    const entry = newEntry(seed)
    kernel.entries.set(session, entry)
    entry.fresh = kernel.record(entry, [{ type: 'session.created', version: 1, seed }, userMessage(prompt)])
    return entry
  }

  function sayAgain(entry: SessionEntry, { prompt, limits }: RunRequest): SessionEntry {
    entry.limits = limits
    const text = prompt ?? textToGoOn(kernel, entry)
    if (text !== undefined) kernel.record(entry, [userMessage(text)])
    return entry
  }

  function forget(root: SessionId): void {
    locks.get(root)?.release()
    locks.delete(root)
    for (const [session, entry] of [...kernel.entries]) {
      if (entry.seed.root !== root) continue
      kernel.entries.delete(session)
      kernel.states.drop(entry)
    }
  }

  return {
    open,
    close() {
      for (const lock of locks.values()) lock.release()
    },
  }
}

function userMessage(text: string): RecordBody {
  return { type: 'message.received', message: { kind: 'user', text } }
}

function busy(session: SessionId): RuntimeError {
  return new RuntimeError('session-busy', `Session ${session} is at work in this program. Send it a message instead.`)
}

/** A new session under its id would mix two conversations in one journal. */
function headless(session: SessionId): RuntimeError {
  return new RuntimeError(
    'journal-damaged',
    `Session ${session} cannot go on: the first record of its journal, which names agent, model and folder, is damaged. See what is left with troupe show ${session}, then begin another session.`,
  )
}

/** Agents, rules and trust are those of the runtime's folder: they must not judge work in another one. */
function elsewhere({ seed }: SessionEntry, dir: string): RuntimeError {
  return new RuntimeError(
    'bad-usage',
    `Session ${seed.session} works in ${seed.dir}, not in ${dir}. Continue it there, or begin another session here.`,
  )
}

function notARoot(session: SessionId): RuntimeError {
  return new RuntimeError(
    'not-a-root',
    `${session} is a sub-agent's session. Continue its root instead; troupe show ${session} prints it.`,
  )
}
