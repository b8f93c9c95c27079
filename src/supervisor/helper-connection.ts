import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { RuntimeError } from '../core/errors.ts'
import { commandLimits } from './command-limits.ts'
import { createLineSplitter, type HelperReply, type HelperRequest } from './helper-protocol.ts'
import { markerName } from './tool-marker.ts'

/** The wire to a helper process. Close it with `end`. */
export interface HelperConnection {
  send(request: HelperRequest): void
  /** Whether it keeps our process alive; at first it does not. */
  keepAlive(isNeeded: boolean): void
  /** Closes its input: it ends all commands and itself. */
  end(): void
  kill(): void
  /** Resolves when it is gone, with what is known of the reason. */
  gone: Promise<string>
}

// It holds little and is idle most of the time: small heap, no helper threads of the engine.
const flags = ['--max-old-space-size=64', '--max-semi-space-size=1', '--v8-pool-size=0', '--no-warnings']

/** Starts it in a session of its own, so that no signal to our process group reaches it. Throws `helper-missing`. */
export function connectHelper(helperPath: string, onReply: (reply: HelperReply) => void): HelperConnection {
  if (!existsSync(helperPath)) {
    throw new RuntimeError('helper-missing', `${helperPath} is missing: build the program again (npm run build).`)
  }
  const start = `${commandLimits()}exec "$0" "$@"`
  const child = spawn('/bin/sh', ['-c', start, process.execPath, ...flags, helperPath], {
    cwd: '/',
    env: helperEnvironment(),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const gone = reasonOfEnd(child)
  // A dead helper is noticed by its exit.
  child.stdin.on('error', () => {})
  child.stdout.setEncoding('utf8')
  child.stdout.on(
    'data',
    createLineSplitter((line) => onReply(JSON.parse(line) as HelperReply)),
  )
  keepAlive(child, false)
  return {
    send: (request) => void child.stdin.write(`${JSON.stringify(request)}\n`),
    keepAlive: (isNeeded) => keepAlive(child, isNeeded),
    end: () => void child.stdin.end(),
    kill: () => void child.kill('SIGKILL'),
    gone,
  }
}

/** The bundled helper: beside the running bundle, or in `dist` when the sources run. */
export function findHelperPath(): string {
  const paths = ['./process-helper.js', '../../dist/process-helper.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  return paths.find((path) => existsSync(path)) ?? paths[0]!
}

function helperEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'TMPDIR', markerName].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(kept), UV_THREADPOOL_SIZE: '1' }
}

function keepAlive(child: ChildProcess, isNeeded: boolean): void {
  const method = isNeeded ? 'ref' : 'unref'
  child[method]()
  for (const pipe of child.stdio) (pipe as Socket | null)?.[method]()
}

/** `close` comes after the last reply was read, `exit` may come before it. */
function reasonOfEnd(child: ChildProcess): Promise<string> {
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2000)
  })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(`${signal ?? `exit code ${code}`} ${complaint}`.trim()))
  })
}
