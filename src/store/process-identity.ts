import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** Who owns a lock. Start time and boot id tell a process from a later one with the same pid; not every system has them. */
export type ProcessIdentity = { pid: number; startTime?: string; bootId?: string; host: string }

export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, startTime: findProcess(process.pid)?.startTime, bootId: findBootId(), host: hostname() }
}

/**
 * False only when the process is gone for certain. One on another host, or in another container of the same machine
 * that has its own host name, cannot be looked at from here: it counts as running.
 */
export function isRunning(owner: ProcessIdentity): boolean {
  if (owner.host !== hostname()) return true
  const bootId = findBootId()
  if (owner.bootId !== undefined && bootId !== undefined && owner.bootId !== bootId) return false
  if (!hasPid(owner.pid)) return false
  const found = findProcess(owner.pid)
  if (found === undefined) return true
  if (found.isZombie) return false
  return owner.startTime === undefined || owner.startTime === found.startTime
}

function hasPid(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it exists and is somebody else's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** What Linux tells of a process: its start in clock ticks since boot (field 22), and whether it only waits to be reaped. */
function findProcess(pid: number): { startTime?: string; isZombie: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field, the name in parentheses, may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { startTime: fields[19], isZombie: fields[0] === 'Z' || fields[0] === 'X' }
  } catch {
    return undefined // No /proc here, or it hides the processes of others.
  }
}

function findBootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return undefined // Linux only.
  }
}
