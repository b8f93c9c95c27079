import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { PermissionMode, RunFinished, RuntimeEvent } from '../../src/index.ts'
import { checkInvariants, describeJournals, type RunToCheck } from './check-invariants.ts'
import { createWorkplace, type Script, type Workplace } from './workplace.ts'

const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const hangMs = 60_000

/** How one program ended; `code` is null when a signal ended it. */
export type Life = { code: number | null; events: RuntimeEvent[]; stderr: string }

/** When to kill a program: after a time, or when it has told that many events. */
export type KillMoment = { afterMs: number } | { afterEvents: number }

/** `faultAt` is the kill that the program deals itself, see `fault-point.ts`. */
export type LifeOptions = { kill?: KillMoment; faultAt?: string }

/** One session in a workplace of its own, worked on by one program after the other. */
export type ChaosPlace = {
  workplace: Workplace
  session: string
  pids: number[]
  /** `troupe run`, from the beginning. */
  run(options?: LifeOptions): Promise<Life>
  /** `troupe resume`. */
  resume(options?: LifeOptions): Promise<Life>
  /** What `checkInvariants` needs, after the last program has ended. */
  toCheck(last: Life): RunToCheck
}

export function createChaosPlace(
  files: Record<string, string>,
  script: Script,
  permission: PermissionMode = 'allow',
): ChaosPlace {
  const workplace = createWorkplace(files)
  const { dir, dataDir, env } = workplace
  const model = `scripted:${workplace.script(script)}`
  workplace.write(join('..', 'data', 'config', 'config.yaml'), 'maxDepth: 3\n')
  const session = 'chaos'
  const pids: number[] = []
  const shared = ['--model', model, '--permission', permission, '--json']

  async function live(args: string[], { kill, faultAt }: LifeOptions = {}): Promise<Life> {
    const child = spawn(process.execPath, [program, ...args, ...shared], {
      cwd: dir,
      env: { ...env, ...(faultAt && { TROUPE_FAULT_AT: faultAt }) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    pids.push(child.pid ?? 0)
    onTestFinished(() => void child.kill('SIGKILL'))
    return follow(child, kill, () => describeJournals({ dataDir, root: session }))
  }

  return {
    workplace,
    session,
    pids,
    run: (options) => live(['run', 'go', '--session', session], options),
    resume: (options) => live(['resume', session], options),
    toCheck: (last) => ({
      dataDir,
      root: session,
      pids,
      jobs: finishedOf(last)?.jobs ?? [],
      tokenFile: join(dir, 'tokens.txt'),
    }),
  }
}

/** The last event of a run that came to its end. */
export function finishedOf({ events }: Life): RunFinished | undefined {
  const last = events.at(-1)
  return last?.type === 'run.finished' ? last : undefined
}

/** Checks that the last program came to the end of the run with all its jobs, and left everything in order. */
export async function expectRecovered(place: ChaosPlace, last: Life, answer: string): Promise<void> {
  const finished = finishedOf(last)
  const code = finished?.denied === 0 ? 0 : 4
  const isWhole = finished?.jobs.every(({ state, delivered }) => state === 'completed' && delivered)
  if (last.code !== code || finished?.status !== 'done' || finished.text !== answer || !isWhole) {
    const told = `the last program ended with ${last.code}, ${JSON.stringify(finished)}\n${last.stderr}`
    throw new Error(`${told}\n${describeJournals({ dataDir: place.workplace.dataDir, root: place.session })}`)
  }
  await checkInvariants(place.toCheck(last))
}

function follow(child: ChildProcess, kill: KillMoment | undefined, describe: () => string): Promise<Life> {
  const events: RuntimeEvent[] = []
  let stderr = ''
  let rest = ''
  const end = () => void child.kill('SIGKILL')
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) events.push(JSON.parse(line))
    if (kill && 'afterEvents' in kill && events.length >= kill.afterEvents) end()
  })
  const timer = kill && 'afterMs' in kill ? setTimeout(end, kill.afterMs) : undefined
  return new Promise((resolve, reject) => {
    const hang = setTimeout(() => {
      end()
      reject(new Error(`the program hangs\n${stderr}\n${describe()}`))
    }, hangMs)
    child.once('close', (code) => {
      clearTimeout(timer)
      clearTimeout(hang)
      resolve({ code, events, stderr })
    })
  })
}
