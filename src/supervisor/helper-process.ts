import { RuntimeError } from '../core/errors.ts'
import type { ProcessOutcome } from '../core/messages.ts'
import { connectHelper } from './helper-connection.ts'
import type { HelperReply, ToolCommand } from './helper-protocol.ts'
import { endProcesses, findCommand } from './process-tree.ts'

/** A helper process at work, seen from the main thread. End it. */
export interface HelperProcess {
  run(command: ToolCommand): HelperCommand
  /** Ends all commands and the helper; resolves when they are gone. */
  end(): Promise<void>
}

/** `outcome` always resolves, also when the helper is killed: then as `failed`. */
export type HelperCommand = { outcome: Promise<ProcessOutcome>; stop(): void }

type Running = { mark: string; sinceMs: number; shell?: number; settle(outcome: ProcessOutcome): void }

/** Grace of commands whose helper was killed: their output goes nowhere. */
const lostGraceMs = 500
/** The helper gives up on a command after KILL and five seconds; one that takes longer is itself stuck. */
const endWithinMs = 8000

/** `onGone` is called as soon as the helper has ended, whatever the reason. Throws `helper-missing` where the program was not built. */
export function startHelperProcess(helperPath: string, onGone: (error: RuntimeError) => void): HelperProcess {
  const running = new Map<number, Running>()
  const connection = connectHelper(helperPath, onReply)
  let lastId = 0

  function onReply(reply: HelperReply): void {
    const command = running.get(reply.id)
    if (reply.type === 'ended') command?.settle(reply.outcome)
    else if (command !== undefined) command.shell = reply.pid
  }

  // Finds by their marks the commands that it was running, and ends them.
  async function cleanUp(reason: string): Promise<void> {
    const error = helperDied(reason)
    onGone(error)
    const lost = [...running.values()]
    await endProcesses(() => lost.flatMap(({ shell = 0, ...known }) => findCommand({ shell, ...known })), lostGraceMs)
    for (const { settle, sinceMs } of lost) settle(failedOutcome(error.message, performance.now() - sinceMs))
  }

  const gone = connection.gone.then(cleanUp)
  return {
    run(command) {
      const id = ++lastId
      const outcome = new Promise<ProcessOutcome>((resolve) => {
        running.set(id, { mark: command.mark, sinceMs: performance.now(), settle: resolve })
      }).finally(() => {
        running.delete(id)
        connection.keepAlive(running.size > 0)
      })
      connection.keepAlive(true)
      connection.send({ type: 'run', id, ...command })
      return { outcome, stop: () => connection.send({ type: 'kill', id }) }
    },
    async end() {
      connection.keepAlive(true)
      connection.end()
      const timer = setTimeout(() => connection.kill(), endWithinMs)
      await gone
      clearTimeout(timer)
    },
  }
}

/** How a command ended that could not do its work. */
export function failedOutcome(error: string, durationMs = 0): ProcessOutcome {
  const nothing = { head: '', tail: '', totalBytes: 0, droppedBytes: 0, exitCode: null, signal: null, leftRunning: 0 }
  return { ...nothing, ended: 'failed', error, durationMs: Math.round(durationMs) }
}

function helperDied(reason: string): RuntimeError {
  return new RuntimeError(
    'helper-died',
    `The helper process that runs commands died (${reason}). The command was ended; what it did until then stays done. The next command starts a new helper.`,
  )
}
