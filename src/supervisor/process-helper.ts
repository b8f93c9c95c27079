import { createLineSplitter, type HelperReply, type HelperRequest } from './helper-protocol.ts'
import { createPipePool } from './output-pipe.ts'
import { startToolProcess, type ToolProcess } from './tool-process.ts'

// Entry of the helper process, which starts, registers and ends the commands of one program. It outlives a `kill -9` of
// that program: the end of its input is then the sign to end all commands, and itself.

/** Milliseconds between TERM and KILL for a command that timed out or was cancelled. */
const graceMs = 2000
/** The same when the program is gone or ends: nobody waits for a result. */
const finalGraceMs = 1000

const pipes = createPipePool()
const running = new Map<number, ToolProcess>()
let ending: Promise<void> | undefined

function take(request: HelperRequest): void {
  if (request.type === 'kill') running.get(request.id)?.stop(graceMs)
  else start(request)
}

function start({ id, ...command }: Extract<HelperRequest, { type: 'run' }>): void {
  const onStarted = (pid: number) => reply({ type: 'started', id, pid })
  const tool = startToolProcess(command, { pipes, graceMs, onStarted })
  running.set(id, tool)
  if (ending !== undefined) tool.stop(finalGraceMs)
  void tool.outcome.then((outcome) => {
    running.delete(id)
    reply({ type: 'ended', id, outcome })
  })
}

function reply(message: HelperReply): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

function end(): void {
  ending ??= endAll().finally(() => process.exit(0))
}

async function endAll(): Promise<void> {
  const closed = pipes.close()
  const tools = [...running.values()]
  for (const tool of tools) tool.stop(finalGraceMs)
  await Promise.all(tools.map(({ outcome }) => outcome))
  await closed
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
}

process.stdout.on('error', end)
process.stdin.on('error', end)
process.stdin.on('end', end)
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end)
process.stdin.setEncoding('utf8')
process.stdin.on(
  'data',
  createLineSplitter((line) => take(JSON.parse(line) as HelperRequest)),
)
