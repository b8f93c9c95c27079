import { createStyle, type Style, takesColor } from './terminal/style.ts'

/** Where the command line reads and writes. */
export type Io = {
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  env: NodeJS.ProcessEnv
  /** Aborted when stdout takes nothing any more; the reason is the system's error, EPIPE for `| head -1`. */
  readerGone: AbortSignal
  /** For stdout. */
  style: Style
  /** For stderr. */
  errorStyle: Style
}

/** The process's own streams. A broken pipe is no error here: it aborts `readerGone`. */
export function processIo(): Io {
  const gone = new AbortController()
  const { stdin, stdout, stderr, env } = process
  stdout.on('error', (error) => gone.abort(error))
  stderr.on('error', () => {
    // Whoever read our progress is gone; the answer on stdout still counts.
  })
  return {
    stdin,
    stdout,
    stderr,
    env,
    readerGone: gone.signal,
    style: createStyle(takesColor(stdout, env)),
    errorStyle: createStyle(takesColor(stderr, env)),
  }
}

/** A person sits there: keys can be asked for, and lines updated in place. */
export function isInteractive({ stdin, stderr, env }: Pick<Io, 'stdin' | 'stderr' | 'env'>): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && env.TERM !== 'dumb'
}

/** Writes lines to stdout. */
export function printLines(io: Io, lines: string[]): void {
  if (lines.length > 0) io.stdout.write(`${lines.join('\n')}\n`)
}

/** Writes a value to stdout as readable JSON. */
export function printJson(io: Io, value: unknown): void {
  io.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

/** Columns of stdout; unbounded when it is no terminal. */
export function columnsOf(io: Io): number {
  return io.stdout.isTTY ? io.stdout.columns : Number.POSITIVE_INFINITY
}

/** Resolves when all that was written to stdout has left the process, or cannot: then `readerGone` is aborted. */
export function drained({ stdout, readerGone }: Io): Promise<void> {
  if (readerGone.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    readerGone.addEventListener('abort', () => resolve(), { once: true })
    // The error of a write is told after its callback.
    stdout.write('', () => setImmediate(resolve))
  })
}

/** What was lost because stdout took no more, such as a full disk; a reader that has gone wanted no more. */
export function outputProblem({ readerGone }: Io): string | undefined {
  const reason: unknown = readerGone.aborted ? readerGone.reason : undefined
  const code = reason instanceof Error && 'code' in reason ? String(reason.code) : undefined
  if (code === undefined || code === 'EPIPE') return undefined
  return `stdout could not be written (${code}), so output is missing. The session is kept: troupe sessions, troupe show ID`
}
