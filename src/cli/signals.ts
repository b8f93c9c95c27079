/** What a run offers to whoever wants to stop it. */
export type Stoppable = {
  /** Stops the turn under way. */
  interrupt(): void
  /** Stops the whole tree. */
  cancel(): void
}

export type SignalOptions = {
  /** A person at a terminal: the first Ctrl-C stops the turn only. */
  interactive: boolean
  /** Tells the person what a signal did. */
  say(line: string): void
  /** Ends the process when an orderly end takes too long. */
  exit(code: number): void
  now?: () => number
}

/** Turns signals into stops of a run. */
export interface SignalWatch {
  /** Before that a signal ends the process at once: nothing runs yet. */
  attach(run: Stoppable): void
  /** As if Ctrl-C had been pressed. */
  press(): void
  /** Cancels as SIGTERM does, for another reason to stop. */
  cancel(): void
  /** Gives the signals back to the process. */
  close(): void
}

const secondPressMs = 2000
/** A terminal, a process manager and the program that started us may all pass on the same signal: that is no second one. */
const sameSignalMs = 100
/** The contract is 5 s until the process is gone; leaving takes a moment too. */
const deadlineMs = 4500

/** Listens to SIGINT, SIGTERM and SIGHUP until it is closed. */
export function watchSignals({ interactive, say, exit, now = () => performance.now() }: SignalOptions): SignalWatch {
  let run: Stoppable | undefined
  let pressedAt = Number.NEGATIVE_INFINITY
  let stoppedAt = 0
  let deadline: ReturnType<typeof setTimeout> | undefined

  function cancel(): void {
    if (deadline !== undefined) return
    if (run === undefined) return exit(130)
    stoppedAt = now()
    deadline = setTimeout(() => exit(130), deadlineMs)
    run.cancel()
  }

  /** Whoever asks again does not want to wait. */
  function terminate(): void {
    if (deadline === undefined) cancel()
    else if (now() - stoppedAt >= sameSignalMs) exit(130)
  }

  function press(): void {
    if (deadline !== undefined) return interactive ? exit(130) : terminate()
    if (!interactive || run === undefined || now() - pressedAt < secondPressMs) {
      if (run !== undefined) say('Stopping everything …')
      return cancel()
    }
    pressedAt = now()
    say('Stopping this turn; Ctrl-C again within 2 s stops everything.')
    run.interrupt()
  }

  process.on('SIGINT', press)
  process.on('SIGTERM', terminate)
  process.on('SIGHUP', terminate)
  return {
    attach(stoppable) {
      run = stoppable
    },
    press,
    cancel,
    close() {
      clearTimeout(deadline)
      process.removeListener('SIGINT', press)
      process.removeListener('SIGTERM', terminate)
      process.removeListener('SIGHUP', terminate)
    },
  }
}
