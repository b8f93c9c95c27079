import type { LimitReached } from '../core/records.ts'

/** The board's text with notices of ours in front; both are said last and never stored. */
export function withNotices(board: string, notices: readonly string[]): string {
  if (notices.length === 0) return board
  const inner = board.replace(/^<job-board>\n/, '').replace(/\n<\/job-board>$/, '')
  return `<job-board>\n${[...notices, ...(inner === '' ? [] : [inner])].join('\n')}\n</job-board>`
}

/** What a model is told in its last turn. */
export function lastTurnNotice({ limit, value }: LimitReached): string {
  return `You have reached your limit (${limit}: ${value}). This is your last turn: call no tool. Sum up what you found and did, and what is left to do.`
}
