import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises'
import type { ProcessOutcome } from '../core/messages.ts'
import { type CapturedOutput, createCapturedOutput } from './captured-output.ts'
import type { ToolCommand } from './helper-protocol.ts'
import { closePair, type PipePool } from './output-pipe.ts'
import { endProcesses, findCommand, type LiveProcess } from './process-tree.ts'
import { type Channel, type Exit, explainStart, type RunningShell, spawnShell } from './spawn-shell.ts'

/** How long the output may go on after the shell's exit. */
const drainMs = 250
/** What runs on after its command gets less grace than the command itself: the result waits for it. */
const leftoverGraceMs = 500
const maxSpillBytes = 100 * 1024 * 1024
const longestTimerMs = 2 ** 31 - 1

/** A command at work. */
export interface ToolProcess {
  /** Resolves when the command and all it started are gone; rejects never. */
  outcome: Promise<ProcessOutcome>
  /** Ends it, first with TERM and after `graceMs` with KILL; the outcome is then `cancelled`. */
  stop(graceMs: number): void
}

/** What a command needs of its surroundings; `graceMs` lies between TERM and KILL after a timeout. */
export type ToolHost = { pipes: PipePool; graceMs: number; onStarted(pid: number): void }

type Stop = { why: 'timed-out' | 'cancelled'; graceMs: number }
type End = Exit & Pick<ProcessOutcome, 'ended' | 'leftRunning' | 'error'>

/** Runs `sh -c command` in a session of its own: no terminal, no input, stdout and stderr in one pipe unless split. */
export function startToolProcess(request: ToolCommand, host: ToolHost): ToolProcess {
  let stop: (stop: Stop) => void = () => {}
  const stopped = new Promise<Stop>((resolve) => {
    stop = resolve
  })
  const timer = setTimeout(stop, Math.min(request.timeoutMs, longestTimerMs), {
    why: 'timed-out',
    graceMs: host.graceMs,
  })
  const outcome = capture(request, host, stopped).finally(() => clearTimeout(timer))
  return { outcome, stop: (graceMs) => stop({ why: 'cancelled', graceMs }) }
}

async function capture(request: ToolCommand, host: ToolHost, stopped: Promise<Stop>): Promise<ProcessOutcome> {
  const startedAt = performance.now()
  const { keepBytes, spillPath, splitStderr } = request
  const paths = splitStderr ? [spillPath, spillPath.replace(/(\.txt)?$/, '.stderr.txt')] : [spillPath]
  const outputs = paths.map((path) => createCapturedOutput({ keepBytes, spillPath: path, maxSpillBytes }))
  const end = await run(request, host, outputs, stopped).catch((error: unknown) =>
    noEnd('failed', explainStart(request, error)),
  )
  const [output, stderr] = outputs.map((captured) => captured.finish())
  const durationMs = Math.round(performance.now() - startedAt)
  return { ...output!, ...(stderr && { stderr }), ...end, durationMs }
}

/** The first output takes stdout, and stderr unless there is a second. */
async function run(
  request: ToolCommand,
  { pipes, onStarted }: ToolHost,
  outputs: readonly CapturedOutput[],
  stopped: Promise<Stop>,
): Promise<End> {
  const channels: Channel[] = []
  for (const output of outputs) channels.push({ pipe: await pipes.take(), onData: (chunk) => output.write(chunk) })
  const early = await Promise.race([stopped, undefined])
  if (early !== undefined) {
    for (const { pipe } of channels) if (pipe !== undefined) closePair(pipe)
    return noEnd(early.why)
  }
  const shell = await spawnShell(request, channels)
  onStarted(shell.pid)
  try {
    const stop = await Promise.race([shell.exited.then(() => undefined), stopped])
    if (stop === undefined) await soon(shell.reading.ended)
    const { found, stuck } = await endAll(request, shell, stop)
    const exit = found === 0 && stop === undefined ? await shell.exited : await afterEnd(shell)
    return { ...exit, ended: stop?.why ?? 'exited', leftRunning: stop === undefined ? found : 0, ...complaint(stuck) }
  } finally {
    shell.reading.destroy()
  }
}

/** Also after a normal exit: what a command leaves running ends with it. */
async function endAll(request: ToolCommand, { pid, startedAt }: RunningShell, stop: Stop | undefined) {
  const find = () => findCommand({ shell: pid, mark: request.mark, sinceMs: startedAt })
  const found = find().length
  const stuck = found === 0 ? [] : await endProcesses(find, stop?.graceMs ?? leftoverGraceMs)
  return { found, stuck }
}

/** The pipe's writers are gone: what it still holds comes at once. A stuck shell has no exit. */
async function afterEnd(shell: RunningShell): Promise<Exit> {
  const exit = await soon(Promise.all([shell.exited, shell.reading.ended]))
  return exit?.[0] ?? (await Promise.race([shell.exited, { exitCode: null, signal: null }]))
}

// A busy helper may find the time over before it has looked at the pipe: one more round of the event loop reads it.
function soon<T>(awaited: Promise<T>): Promise<T | undefined> {
  return Promise.race([awaited, sleep(drainMs).then(() => nextRound(undefined))])
}

function complaint(stuck: LiveProcess[]): Pick<End, 'error'> {
  if (stuck.length === 0) return {}
  return { error: `Could not be ended, even by KILL: process ${stuck.map(({ pid }) => Math.abs(pid)).join(', ')}.` }
}

function noEnd(ended: End['ended'], error?: string): End {
  return { exitCode: null, signal: null, ended, leftRunning: 0, ...(error === undefined ? {} : { error }) }
}
