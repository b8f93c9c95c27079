import { loadLibrary } from '../load-library.ts'
import { portNumber } from '../options.ts'
import { serveUntilStopped } from '../serve-until-stopped.ts'
import type { AddCommand } from './context.ts'

/** `troupe scripted-server`: a script, served as a model server. */
export const addScriptedServer: AddCommand = (program, { io }) => {
  program
    .command('scripted-server')
    .description('serve a scripted model as Ollama and OpenAI would be, on this machine')
    .argument('<file>', 'script (YAML)')
    .option('--port <port>', 'port; 0 takes any free one', portNumber, 0)
    .action(async (path: string, { port }: { port: number }) => {
      const { startScriptedServer } = await loadLibrary()
      const server = await startScriptedServer({ path, port })
      await serveUntilStopped(io, server, `Serving ${path} at ${server.url} - use it with OLLAMA_HOST=${server.url}`)
    })
}
