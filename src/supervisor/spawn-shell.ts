import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, statSync } from 'node:fs'
import { messageOf } from '../core/errors.ts'
import type { ToolCommand } from './helper-protocol.ts'
import { type PipePair, type PipeReading, readPipe, readSocket } from './output-pipe.ts'
import { addMark, markerName } from './tool-marker.ts'

export type Exit = { exitCode: number | null; signal: string | null }

/** A shell that has started, and the reading of its output. `startedAt` is on the monotonic clock, milliseconds. */
export type RunningShell = { pid: number; startedAt: number; exited: Promise<Exit>; reading: PipeReading }

// `--` for commands that begin with a dash.
const direct = ['-c', '--']
// Without a pipe of ours stderr joins stdout in the shell; the command travels as an argument, so nothing is quoted.
const merging = ['-c', 'exec 2>&1; exec /bin/sh -c -- "$0"']

/** Where an output goes: through a pipe of ours, or through a socket of Node's where there is none. */
export type Channel = { pipe: PipePair | undefined; onData(chunk: Buffer): void }

/**
 * Takes over the pipes. One channel takes stdout and stderr in true order; with two, the second takes stderr. Rejects when
 * the command cannot be started; `explainStart` says why.
 */
export async function spawnShell(request: ToolCommand, channels: readonly Channel[]): Promise<RunningShell> {
  const pipes = channels.flatMap(({ pipe }) => pipe ?? [])
  try {
    const startedAt = performance.now()
    const child = start(request, channels)
    const exited = exitOf(child)
    await hasStarted(child)
    const sockets = [child.stdout, child.stderr]
    const readings = channels.map(({ pipe, onData }, n) =>
      pipe === undefined ? readSocket(sockets[n]!, onData) : readPipe(pipe.read, onData),
    )
    return { pid: child.pid!, startedAt, exited, reading: together(readings) }
  } catch (error) {
    for (const pipe of pipes) closeSync(pipe.read)
    throw error
  } finally {
    for (const pipe of pipes) closeSync(pipe.write)
  }
}

function together(readings: readonly PipeReading[]): PipeReading {
  return {
    ended: Promise.all(readings.map(({ ended }) => ended)).then(() => undefined),
    destroy: () => {
      for (const reading of readings) reading.destroy()
    },
  }
}

/** What went wrong, for the model: with what to do about it. */
export function explainStart({ command, cwd }: ToolCommand, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (command.includes('\0')) return 'The command holds a NUL byte, which no command can: remove it.'
  if (!isFolder(cwd)) return `There is no folder ${cwd} to run the command in.`
  if (code === 'E2BIG') {
    return `The command is too long to start (${Buffer.byteLength(command)} bytes). Write it to a file and run that file.`
  }
  return `The command could not be started: ${messageOf(error)}`
}

function start({ command, cwd, env, mark, starter = [] }: ToolCommand, channels: readonly Channel[]): ChildProcess {
  // A missing folder would be reported as a missing /bin/sh.
  if (!isFolder(cwd)) throw new Error('no such folder')
  const marks = addMark(process.env[markerName], mark)
  const options = { cwd, env: { ...env, PWD: cwd, [markerName]: marks }, detached: true }
  const [out, errors] = channels.map(({ pipe }) => pipe?.write ?? ('pipe' as const))
  if (out === 'pipe' && errors === undefined) {
    const [file, ...args] = [...starter, '/bin/sh', ...merging, command]
    return spawn(file!, args, { ...options, stdio: ['ignore', 'pipe', 'ignore'] })
  }
  const [file, ...args] = [...starter, '/bin/sh', ...direct, command]
  return spawn(file!, args, { ...options, stdio: ['ignore', out!, errors ?? out!] })
}

function hasStarted(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve())
    child.once('error', reject)
  })
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }))
  })
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
