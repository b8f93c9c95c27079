import { type Io, printLines } from './io.ts'
import { oneLine } from './terminal/sanitize.ts'

/** Says where a server listens, and closes it when a signal comes: that is how its work is done. */
export async function serveUntilStopped(
  io: Io,
  server: { url: string; close(): Promise<void> },
  line: string,
): Promise<void> {
  printLines(io, [oneLine(line)])
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
  await server.close()
}
