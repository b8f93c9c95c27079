import type { RunningServer } from './models/listen.ts'

export type { RunningServer } from './models/listen.ts'
export { parseServerAddress, shownAddress } from './models/ollama/server-address.ts'
export { listInstalled, serverVersion, showModel } from './models/ollama/server-api.ts'

/** Serves a script as Ollama and OpenAI would be, on loopback; port 0 takes a free one. Close it. */
export async function startScriptedServer(options: { path: string; port?: number }): Promise<RunningServer> {
  const { startScriptedServer: start } = await import('./models/scripted/scripted-server.ts')
  return start(options)
}

/** Passes requests on to a real server and writes down what passes, secrets removed. Close it. */
export async function startRecorder(options: { target: string; port?: number; file: string }): Promise<RunningServer> {
  const { startRecorder: start } = await import('./models/record-proxy.ts')
  return start(options)
}
