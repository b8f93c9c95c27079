import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { messageOf, type RuntimeError } from '../core/errors.ts'
import type { CallId, SessionId } from '../core/ids.ts'
import type { ProcessOutcome, ProcessRequest } from '../core/messages.ts'
import type { SandboxPlace } from '../sandbox/create-sandbox.ts'
import { findHelperPath } from './helper-connection.ts'
import { failedOutcome, type HelperProcess, startHelperProcess } from './helper-process.ts'
import { programMark } from './tool-marker.ts'

/**
 * The commands of all sessions. They run under a helper process, which survives a `kill -9` of ours just long enough to
 * end them.
 */
export interface Processes {
  /**
   * Runs a command; rejects never. A second call for the same session and call gets the outcome of the first, also when
   * that has ended, until `forget`. `enter` gives a new one its place in the sandbox.
   */
  run(request: ProcessRequest, enter?: () => SandboxPlace): Promise<ProcessOutcome>
  /** Ends one command, or all of a session: TERM, two seconds, KILL. Resolves when all that they started is gone. */
  kill(session: SessionId, call?: CallId): Promise<void>
  /** The same for the commands of this epoch of a session and of older ones. */
  killEpoch(session: SessionId, epoch: number): Promise<void>
  /** True while a command runs or its outcome is kept. */
  has(session: SessionId, call: CallId): boolean
  /** Drops kept outcomes: of one call, or of a session. */
  forget(session: SessionId, call?: CallId): void
  /** Ends all commands and the helper; resolves when they are gone. A later `run` fails. */
  close(): Promise<void>
}

export type ProcessesOptions = {
  /** The bundled helper; default: beside this program's bundle. */
  helperPath?: string
  /** The helper was killed; its commands have failed. */
  onHelperDied?: (error: RuntimeError) => void
}

type Entry = { epoch: number; isRunning: boolean; outcome: Promise<ProcessOutcome>; stop(): void }

/** Starts nothing before the first command. Close it. */
export function createProcesses({ helperPath, onHelperDied }: ProcessesOptions = {}): Processes {
  const owner = `${programMark()}.${randomBytes(4).toString('hex')}`
  const sessions = new Map<SessionId, Map<CallId, Entry>>()
  let helper: HelperProcess | undefined
  let commands = 0
  let isClosed = false

  function ensureHelper(): HelperProcess {
    if (helper !== undefined) return helper
    const started = startHelperProcess(helperPath ?? findHelperPath(), (error) => {
      if (helper === started) helper = undefined
      if (!isClosed) onHelperDied?.(error)
    })
    helper = started
    return started
  }

  function start({ session, call, epoch, leave: _, ...command }: ProcessRequest, place?: SandboxPlace): Entry {
    const mark = `${owner}.${++commands}`
    const spillPath = resolve(command.spillPath)
    const starter = place?.starter
    const { outcome, stop } = ensureHelper().run({ ...command, spillPath, mark, ...(starter && { starter }) })
    const entry: Entry = { epoch, isRunning: true, outcome, stop }
    void outcome.then(() => {
      entry.isRunning = false
      place?.release()
    })
    return entry
  }

  async function killAll(chosen: Entry[]): Promise<void> {
    const running = chosen.filter(({ isRunning }) => isRunning)
    for (const entry of running) entry.stop()
    await Promise.all(running.map(({ outcome }) => outcome))
  }

  function entriesOf(session: SessionId): Entry[] {
    return [...(sessions.get(session)?.values() ?? [])]
  }

  function runNew(request: ProcessRequest, place?: SandboxPlace): Promise<ProcessOutcome> {
    try {
      const entry = start(request, place)
      const calls = sessions.get(request.session) ?? new Map<CallId, Entry>()
      sessions.set(request.session, calls.set(request.call, entry))
      return entry.outcome
    } catch (error) {
      place?.release()
      return Promise.resolve(failedOutcome(messageOf(error)))
    }
  }

  return {
    async run(request, enter) {
      const known = sessions.get(request.session)?.get(request.call)
      if (known === undefined && isClosed) return failedOutcome('No more commands are run: the program is ending.')
      if (known === undefined) return runNew(request, enter?.())
      known.epoch = Math.max(known.epoch, request.epoch)
      return known.outcome
    },
    kill(session, call) {
      const one = call === undefined ? undefined : sessions.get(session)?.get(call)
      return killAll(call === undefined ? entriesOf(session) : one === undefined ? [] : [one])
    },
    killEpoch: (session, epoch) => killAll(entriesOf(session).filter((entry) => entry.epoch <= epoch)),
    has: (session, call) => sessions.get(session)?.has(call) === true,
    forget(session, call) {
      const calls = sessions.get(session)
      if (call !== undefined) calls?.delete(call)
      if (call === undefined || calls?.size === 0) sessions.delete(session)
    },
    async close() {
      isClosed = true
      await killAll([...sessions.keys()].flatMap(entriesOf))
      await helper?.end()
      sessions.clear()
    },
  }
}
