import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** The command line, as it was just built. */
export const program = fileURLToPath(new URL('../dist/cli.js', import.meta.url))

/** What a command left behind; `code` is null when a signal ended it. */
export type Finished = { code: number | null; stdout: string; stderr: string }

export type RunningCli = {
  child: ChildProcess
  stdout: () => string
  stderr: () => string
  finished: Promise<Finished>
}

/** An empty home folder and a workspace, for one test; no model server can be reached from it. */
export function newHome() {
  const home = mkdtempSync(join(tmpdir(), 'troupe-cli-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const dir = join(home, 'work')
  mkdirSync(dir)
  const env = { PATH: process.env.PATH, HOME: home, OLLAMA_HOST: 'http://127.0.0.1:9' }

  function start(args: string[], options: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string } = {}): RunningCli {
    const place = { cwd: options.cwd ?? dir, env: { ...env, ...options.env } }
    const running = watch(spawn(process.execPath, [program, ...args], place))
    running.child.stdin?.end(options.input ?? '')
    return running
  }

  /** At a terminal that `script` provides: what is written to stdin is typed, stdout is the screen. */
  function startAtTerminal(args: string[]): RunningCli {
    const command = [process.execPath, program, ...args].map((word) => `'${word}'`).join(' ')
    const terminal = { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' }
    return watch(
      spawn('script', ['-qec', `stty cols 90 rows 24; exec ${command}`, '/dev/null'], { cwd: dir, env: terminal }),
    )
  }

  return {
    home,
    dir,
    env,
    start,
    startAtTerminal,
    run: (...[args, options]: Parameters<typeof start>) => start(args, options).finished,
    /** Writes a file into the workspace and returns its path. */
    put(path: string, text: string): string {
      const file = join(dir, path)
      mkdirSync(join(file, '..'), { recursive: true })
      writeFileSync(file, text)
      return file
    },
  }
}

/** Collects what a command writes to its pipes; it is gone after the test. */
export function watch(child: ChildProcess): RunningCli {
  onTestFinished(() => void child.kill('SIGKILL'))
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  const finished = new Promise<Finished>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout: stdout(), stderr: stderr() }))
  })
  return { child, stdout, stderr, finished }
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = ''
  stream?.setEncoding('utf8')
  stream?.on('data', (chunk) => {
    text += chunk
  })
  return () => text
}
