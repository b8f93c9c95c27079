import { spawn } from 'node:child_process'
import { RuntimeError } from '../../core/errors.ts'

export type RipgrepRun = {
  /** Path of the binary. */
  program: string
  args: string[]
  cwd: string
  signal: AbortSignal
  /** Gets the output as it comes; returns false once it has enough. */
  onData(chunk: Buffer): boolean
}

/** `complaints`: the beginning of what it wrote to stderr. */
export type RipgrepEnd = { exitCode: number | null; complaints: string }

const maxMs = 60_000
const maxComplaintChars = 20_000

/**
 * Runs ripgrep to its end; killed when cancelled. Should this whole program be killed meanwhile, nobody ends it: it only
 * reads, ends at the first line it writes, and gets at most a minute of processor time from the system. Rejects with the
 * signal's reason, `search-too-slow`, or the error of starting.
 */
export function runRipgrep({ program, args, cwd, signal, onData }: RipgrepRun): Promise<RipgrepEnd> {
  signal.throwIfAborted()
  const limited = ['-c', `ulimit -t ${maxMs / 1000}; exec "$0" "$@"`, program, ...args]
  const [file, all] = process.platform === 'win32' ? [program, args] : ['/bin/sh', limited]
  const child = spawn(file, all, { cwd, env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
  return new Promise((resolve, reject) => {
    let isSlow = false
    let complaints = ''
    const kill = () => void child.kill('SIGKILL')
    const timer = setTimeout(() => {
      isSlow = true
      kill()
    }, maxMs)
    signal.addEventListener('abort', kill, { once: true })
    child.stdout.on('data', (chunk: Buffer) => onData(chunk) || kill())
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaints = (complaints + text).slice(0, maxComplaintChars)
    })
    child.once('error', reject)
    child.once('close', (exitCode, killedBy) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', kill)
      if (signal.aborted) reject(signal.reason)
      else if (isSlow || (killedBy !== null && !child.killed)) reject(tooSlow())
      else resolve({ exitCode, complaints })
    })
  })
}

function tooSlow(): RuntimeError {
  const advice = 'Narrow path or include, or use a simpler pattern.'
  return new RuntimeError('search-too-slow', `The search was stopped: it took too long. ${advice}`)
}
