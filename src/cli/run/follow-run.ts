import { existsSync } from 'node:fs'
import { RuntimeError } from '../../core/errors.ts'
import type { RuntimeEvent } from '../../core/events.ts'
import type { Run, RunFinished, Troupe, TroupeOptions } from '../../index.ts'
import { type AskDesk, createAskDesk } from '../asks/ask-desk.ts'
import { type ExitCode, exitCodeOfRun, exitCodes } from '../exit-codes.ts'
import { type Io, isInteractive } from '../io.ts'
import { type Library, loadLibrary } from '../load-library.ts'
import { type RunOptions, troupeOptions } from '../options.ts'
import { createProgress, type Progress, type ProgressKind } from '../progress/progress.ts'
import { type SignalWatch, watchSignals } from '../signals.ts'
import { jsonLine, stripControls } from '../terminal/sanitize.ts'
import { askTrust } from './ask-trust.ts'
import type { OutputSchema } from './output-schema.ts'
import { endingLines, headerLines } from './run-lines.ts'

/** What to run: `start` begins or continues a session of the troupe it is given; `session` is one that may exist already. */
export type RunPlan = {
  options: RunOptions
  session?: string
  start(troupe: Troupe, schema: OutputSchema | undefined): Run
}

/** Runs and shows it: progress on stderr, the answer or the events on stdout. Returns the exit code. */
export async function followRun(io: Io, { options, session, start }: RunPlan): Promise<ExitCode> {
  const schema = await loadSchema(options)
  const progress = createProgress({ kind: progressKind(io, options), screen: io.stderr, style: io.errorStyle })
  const signals = watchSignals({ interactive: isInteractive(io), say: progress.note, exit: process.exit })
  const desk = createDesk(io, options, progress, signals)
  let troupe: Troupe | undefined
  try {
    const library = await loadLibrary()
    const known: Pick<TroupeOptions, 'dir' | 'config'> = session === undefined ? {} : whereItWas(session, library)
    if (desk && !options.trust) await askTrust(io, options.dir ?? known.dir ?? '.', library)
    troupe = await library.createTroupe({ ...known, ...troupeOptions(options), onAsk: desk?.ask })
    const finished = await follow(troupe, {
      io,
      options,
      progress,
      signals,
      desk,
      start: (live) => start(live, schema),
    })
    progress.close()
    return report(io, finished, options, schema)
  } finally {
    progress.close()
    desk?.close()
    await troupe?.close()
    signals.close()
  }
}

/** A session goes on in its folder and with its model, unless another is named. */
function whereItWas(session: string, { listSessions }: Library): Pick<TroupeOptions, 'dir' | 'config'> {
  const known = listSessions().find((listing) => listing.session === session)
  // Of a journal that cannot be read, opening it says why.
  if (known === undefined || known.dir === '') return {}
  if (existsSync(known.dir)) return { dir: known.dir, config: { model: known.model } }
  const message = `The folder of session ${session}, ${known.dir}, is gone. Put it back, or begin another session; troupe show ${session} prints this one.`
  throw new RuntimeError('bad-dir', message)
}

async function loadSchema({ outputSchema }: RunOptions): Promise<OutputSchema | undefined> {
  if (outputSchema === undefined) return undefined
  const { loadOutputSchema } = await import('./output-schema.ts')
  return await loadOutputSchema(outputSchema)
}

type Following = {
  io: Io
  options: RunOptions
  progress: Progress
  signals: SignalWatch
  desk: AskDesk | undefined
  start(troupe: Troupe): Run
}

async function follow(
  troupe: Troupe,
  { io, options, progress, signals, desk, start }: Following,
): Promise<RunFinished> {
  let begun = false
  let stopped = false
  const begin = () => {
    if (begun) return
    begun = true
    for (const line of headerLines(troupe)) progress.note(line)
  }
  const events = troupe.events.subscribe((event) => {
    begin()
    if (options.json) printEvent(io, event)
    if (event.type === 'permission.resolved') desk?.withdraw(event.id)
    if (event.type === 'turn.ended' && event.session === event.root) stopped = event.interrupted === true
    progress.take(event)
  })
  try {
    const run = start(troupe)
    begin()
    signals.attach({ interrupt: () => quietly(run.interrupt()), cancel: () => quietly(run.cancel()) })
    io.readerGone.addEventListener('abort', signals.cancel, { once: true })
    const finished = await run.finished
    // Nothing was left to do after the turn that the person stopped: that is no answer.
    return stopped && finished.status === 'done' ? { ...finished, status: 'interrupted' } : finished
  } finally {
    io.readerGone.removeEventListener('abort', signals.cancel)
    events.unsubscribe()
  }
}

/** Stopping what has just ended is no failure; how the run ended is told by `finished`. */
function quietly(stopped: Promise<void>): void {
  stopped.catch(() => {})
}

function printEvent({ stdout, readerGone }: Io, event: RuntimeEvent): void {
  if (!readerGone.aborted) stdout.write(`${jsonLine(event)}\n`)
}

/** Lines are updated in place only where nothing else writes on the same terminal. */
function progressKind({ stdout, stderr, env }: Io, { json }: RunOptions): ProgressKind {
  if (json) return stderr.isTTY && !stdout.isTTY && env.TERM !== 'dumb' ? 'live' : 'quiet'
  return stderr.isTTY && env.TERM !== 'dumb' ? 'live' : 'plain'
}

/** A person is asked only where one sits; `allow` and `deny` leave nothing to ask. */
function createDesk(io: Io, { permission }: RunOptions, progress: Progress, signals: SignalWatch): AskDesk | undefined {
  if (!isInteractive(io) || permission === 'allow' || permission === 'deny') return undefined
  return createAskDesk({
    stdin: io.stdin,
    screen: io.stderr,
    style: io.errorStyle,
    pause: progress.pause,
    resume: progress.resume,
    interrupt: signals.press,
  })
}

/** The answer to stdout, what went wrong to stderr. */
function report(io: Io, finished: RunFinished, { json }: RunOptions, schema: OutputSchema | undefined): ExitCode {
  const checked = schema !== undefined && finished.status === 'done' ? schema.check(finished.text) : finished
  if (!json && 'text' in checked && checked.text !== '' && !io.readerGone.aborted) {
    io.stdout.write(`${stripControls(checked.text).trimEnd()}\n`)
  }
  for (const line of endingLines(finished)) io.stderr.write(`${line}\n`)
  if ('text' in checked) return exitCodeOfRun(finished)
  io.stderr.write(`troupe: the answer does not fit the schema: ${stripControls(checked.problem)}\n`)
  io.stderr.write(`To see it: troupe show ${finished.root}\n`)
  return exitCodes.failed
}
