import type { ProcessOutcome } from '../core/messages.ts'

/** A command as the helper process gets it. */
export type ToolCommand = {
  command: string
  cwd: string
  timeoutMs: number
  env: Record<string, string>
  keepBytes: number
  spillPath: string
  splitStderr?: boolean
  /** Program and arguments that start the shell: those of the sandbox. */
  starter?: string[]
  /** Value that marks the command's processes. */
  mark: string
}

/** What the main thread sends, one JSON object a line. The end of the stream ends all commands and the helper. */
export type HelperRequest = ({ type: 'run'; id: number } & ToolCommand) | { type: 'kill'; id: number }

/** What the helper answers: the shell's pid if it started, then, for each `run`, how it ended. */
export type HelperReply =
  | { type: 'started'; id: number; pid: number }
  | { type: 'ended'; id: number; outcome: ProcessOutcome }

/** Splits a stream of text into lines; `take` gets what has come and calls back with each whole line. */
export function createLineSplitter(onLine: (line: string) => void): (text: string) => void {
  let pending: string[] = []
  return (text) => {
    const lines = text.split('\n')
    const last = lines.pop()!
    if (lines.length > 0) {
      onLine(pending.join('') + lines[0])
      pending = []
      lines.slice(1).forEach(onLine)
    }
    if (last !== '') pending.push(last)
  }
}
