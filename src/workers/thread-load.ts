import { readFileSync, readlinkSync } from 'node:fs'

/** What a thread has had of the processor, in ms, and whether it is waiting for something in the system just now. */
export type ThreadLoad = { cpuMs: number; isWaiting: boolean }

const tickMs = 10

/** The system's number of the calling thread; 0 where there is no way to know (only Linux has one). */
export function ownThreadId(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return 0 // Another system, or a /proc that is not mounted.
  }
}

/** Of a thread of this process, by the number it gave; `undefined` when nobody can tell. See proc_pid_stat(5). */
export function loadOfThread(id: number): ThreadLoad | undefined {
  if (id === 0) return undefined
  try {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs, isWaiting: fields[0] === 'S' }
  } catch {
    return undefined // It has gone.
  }
}
