import { endProcesses, findProcesses } from './process-tree.ts'
import { isOrphaned, markerName, parseMarks } from './tool-marker.ts'

const sweepGraceMs = 500

/**
 * Ends the commands of programs that died together with their helper; resolves with the number of processes found.
 * Commands of living programs are left alone, and so is a dead program that ours was itself started by. Finds nothing
 * on platforms without /proc.
 */
export async function sweepLeftovers(): Promise<number> {
  const around = new Set(parseMarks(process.env[markerName]))
  const judged = new Map<string, boolean>()
  const isLeftover = (mark: string): boolean => {
    const known = judged.get(mark) ?? (!around.has(mark) && isOrphaned(mark))
    judged.set(mark, known)
    return known
  }
  const find = () => findProcesses(({ marks }) => marks.some(isLeftover))
  const found = find().length
  if (found > 0) await endProcesses(find, sweepGraceMs)
  return found
}
