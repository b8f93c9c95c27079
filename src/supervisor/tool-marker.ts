import { readFileSync, readlinkSync } from 'node:fs'

/** Environment variable that every process of a command inherits; its value is a list of marks, one for each Troupe around it. */
export const markerName = 'TROUPE_TOOL'

/** Names a program for good: pid, start time and pid namespace (0 where the platform has no /proc). */
export function programMark(pid: number = process.pid): string {
  return `${pid}.${startTimeOf(pid) ?? 0}.${pidNamespace()}`
}

/** The marks in an environment's value, outermost first. */
export function parseMarks(value: string | undefined): string[] {
  return (value ?? '').split(' ').filter((mark) => mark !== '')
}

/** Adds our mark to those of the programs around us. */
export function addMark(value: string | undefined, mark: string): string {
  return [...parseMarks(value), mark].join(' ')
}

/** True when the program that made the mark is known to be dead; false for what cannot be judged from here. */
export function isOrphaned(mark: string): boolean {
  const [pid, startTime, namespace] = mark.split('.')
  if (namespace === undefined || namespace === '0' || namespace !== pidNamespace()) return false
  return startTimeOf(Number(pid)) !== startTime
}

/** In the kernel's ticks since boot: with the pid it names one process. A zombie counts as dead. */
function startTimeOf(pid: number): string | undefined {
  const fields = readStat(pid)
  return fields === undefined || fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

/** The fields of /proc/<pid>/stat from the state on; the name before them may hold blanks and parentheses. */
export function readStat(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined // Ended meanwhile, or there is no /proc here.
  }
}

// A pid means something else in another container, whose processes may be visible from here.
function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
  } catch {
    return '0'
  }
}
