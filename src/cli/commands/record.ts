import { loadLibrary } from '../load-library.ts'
import { portNumber } from '../options.ts'
import { serveUntilStopped } from '../serve-until-stopped.ts'
import type { AddCommand } from './context.ts'

type RecordOptions = { target?: string; port: number; out: string }

/** `troupe record`: stands between us and a real model server, and writes down what passes. */
export const addRecord: AddCommand = (program, { io }) => {
  program
    .command('record')
    .description('pass requests on to a model server and write its traffic to a file, secrets removed')
    .option('--target <url>', 'server (default: OLLAMA_HOST, else http://127.0.0.1:11434)')
    .option('--port <port>', 'port to listen on; 0 takes any free one', portNumber, 0)
    .option('--out <file>', 'file to write', 'recording.yaml')
    .action(async ({ target, port, out }: RecordOptions) => {
      const { startRecorder } = await loadLibrary()
      const recorder = await startRecorder({
        target: target ?? io.env.OLLAMA_HOST ?? 'http://127.0.0.1:11434',
        port,
        file: out,
      })
      await serveUntilStopped(
        io,
        recorder,
        `Recording to ${out} at ${recorder.url} - use it with OLLAMA_HOST=${recorder.url}`,
      )
    })
}
