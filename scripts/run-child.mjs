import { spawn } from 'node:child_process'

const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Runs Node on a script with this process's streams, and hands on the signals that reach only us. Resolves with the
 * exit code, 128 and the signal's number where a signal ended it.
 */
export function runNode(args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: 'inherit', ...options })
    const handlers = passedOn.map((signal) => [signal, () => handOn(child, signal)])
    for (const [signal, handler] of handlers) process.on(signal, handler)
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      for (const [name, handler] of handlers) process.removeListener(name, handler)
      resolve(code ?? 128 + (signalNumbers[signal] ?? 0))
    })
  })
}

const signalNumbers = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
}

/** At a terminal Ctrl-C reaches the whole foreground group: the child has it already. */
function handOn(child, signal) {
  if (signal === 'SIGINT' && process.stdin.isTTY) return
  child.kill(signal)
}
