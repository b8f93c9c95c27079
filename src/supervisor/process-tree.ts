import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { markerName, parseMarks, readStat } from './tool-marker.ts'

/** A process that is alive. `marks` is read only when somebody looks: it costs a file. */
export type LiveProcess = { pid: number; parent: number; group: number; session: number; marks: readonly string[] }

/** What belongs to one command: its shell's pid (also its group and session) and its mark. */
export type Command = { shell: number; mark: string; sinceMs: number }

/** False on platforms without /proc, where only the process group of a command can be found. */
export const hasProc = process.platform === 'linux'

/** Living processes (no zombies) that `wanted` picks, our own process never among them. */
export function findProcesses(wanted: (process: LiveProcess) => boolean, from = 0): LiveProcess[] {
  return livePids(from).flatMap((pid) => {
    const entry = pid === process.pid ? undefined : readProcess(pid)
    return entry !== undefined && wanted(entry) ? [entry] : []
  })
}

/** Everything that a command started and that is alive: by group, session, mark or descent. */
export function findCommand(command: Command): LiveProcess[] {
  if (!hasProc) return findGroup(command.shell)
  const family = new Set([command.shell])
  const found = findProcesses((entry) => {
    const ours =
      entry.group === command.shell ||
      entry.session === command.shell ||
      family.has(entry.parent) ||
      entry.marks.includes(command.mark)
    if (ours) family.add(entry.pid)
    return ours
  }, firstPid(command))
  return found
}

/**
 * Ends what `find` finds until it finds nothing: TERM once to each process, KILL to all after the grace time. Resolves
 * with what is left when even KILL has not helped for five seconds (a process stuck in the kernel, or another user's).
 */
export async function endProcesses(
  find: () => LiveProcess[],
  graceMs: number,
  giveUpMs: number = 5000,
): Promise<LiveProcess[]> {
  const asked = new Set<number>()
  const startedAt = performance.now()
  for (let waitMs = 4; ; waitMs = Math.min(waitMs * 2, 50)) {
    const alive = find()
    const elapsedMs = performance.now() - startedAt
    if (alive.length === 0 || elapsedMs > graceMs + giveUpMs) return alive
    if (elapsedMs >= graceMs) for (const { pid } of alive) send(pid, 'SIGKILL')
    else for (const { pid } of alive) if (!asked.has(pid)) askToEnd(pid, asked)
    await sleep(waitMs)
  }
}

// A stopped process takes notice of TERM only when it goes on.
function askToEnd(pid: number, asked: Set<number>): void {
  asked.add(pid)
  send(pid, 'SIGTERM')
  send(pid, 'SIGCONT')
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone meanwhile, or not ours to signal: the next look decides.
  }
}

/**
 * Pids rise, so what a short command started has a higher pid than its shell: looking at those alone makes the common
 * case cheap. A command that ran for long may have seen the pids wrap around.
 */
function firstPid({ shell, sinceMs }: Command): number {
  const isShort = performance.now() - sinceMs < 3000
  return isShort && lastPid() >= shell ? shell : 0
}

function lastPid(): number {
  try {
    return Number(readFileSync('/proc/loadavg', 'utf8').trim().split(' ').at(-1))
  } catch {
    return 0
  }
}

function livePids(from: number): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid >= from && pid > 0)
      .sort((a, b) => a - b)
  } catch {
    return []
  }
}

function readProcess(pid: number): LiveProcess | undefined {
  const stat = readStat(pid)
  if (stat === undefined || stat[0] === 'Z' || stat[0] === 'X') return undefined
  const [parent, group, session] = stat.slice(1, 4).map(Number)
  // A thread of the kernel: most of what there is, and dear to ask for its environment.
  if (group === 0) return undefined
  let marks: string[] | undefined
  return {
    pid,
    parent: parent!,
    group: group!,
    session: session!,
    get marks() {
      marks ??= readMarks(pid)
      return marks
    },
  }
}

function readMarks(pid: number): string[] {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
    const ours = variables.find((variable) => variable.startsWith(`${markerName}=`))
    return parseMarks(ours?.slice(markerName.length + 1))
  } catch {
    return [] // Another user's process, or it has ended.
  }
}

// A negative pid signals the whole group.
function findGroup(group: number): LiveProcess[] {
  try {
    process.kill(-group, 0)
    return [{ pid: -group, parent: 0, group, session: group, marks: [] }]
  } catch {
    return []
  }
}
