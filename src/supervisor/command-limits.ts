import { readFileSync } from 'node:fs'

/** Processes that commands may add to those of the system. */
const maxAdded = 4096

/**
 * Shell text that bounds what commands can do to the machine, for a program that goes on with `exec`: no core dumps, and an
 * end to a fork bomb. The system does not hold root to the latter.
 */
export function commandLimits(): string {
  const most = maxProcesses()
  // dash says -p where bash says -u.
  const processes = most === undefined ? '' : `ulimit -S -u ${most} 2>/dev/null || ulimit -S -p ${most} 2>/dev/null; `
  return `ulimit -c 0; ${processes}`
}

/** `undefined` where it cannot be told, or a lower limit holds already. */
function maxProcesses(): number | undefined {
  try {
    // All threads of all users: more than this user has, whom the limit counts.
    const running = Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[3]?.split('/')[1])
    const limit = /^Max processes\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    const most = running + maxAdded
    return Number.isInteger(most) && (limit === 'unlimited' || Number(limit) > most) ? most : undefined
  } catch {
    return undefined // There is no /proc here.
  }
}
