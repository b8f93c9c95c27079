import { messageOf } from '../core/errors.ts'
import type { Finding } from './doctor.ts'

const timeoutMs = 3000
const shownModels = 20

/** Ollama: reachable, its models, and which of them can call tools. `spare`: this run would not use it. */
export async function examineServer(env: NodeJS.ProcessEnv, spare: boolean): Promise<Finding[]> {
  const { listInstalled, parseServerAddress, serverVersion, shownAddress } = await import('../index.ts')
  let url: string
  try {
    url = parseServerAddress(env.OLLAMA_HOST)
  } catch (error) {
    return [{ what: 'Ollama', ok: spare ? 'warn' : false, found: messageOf(error) }]
  }
  try {
    const version = await serverVersion(url, timeoutMs)
    const installed = await listInstalled(url, timeoutMs)
    return [
      { what: 'Ollama', ok: true, found: `${version} at ${shownAddress(url)}` },
      ...(await modelFindings(url, installed)),
    ]
  } catch (error) {
    // Without a server the rehearsal is played; one that was named is meant to be there.
    const needed = Boolean(env.OLLAMA_HOST) && !spare
    return [{ what: 'Ollama', ok: needed ? false : 'warn', found: messageOf(error) }]
  }
}

type Installed = { name: string; remote: boolean }

async function modelFindings(url: string, installed: Installed[]): Promise<Finding[]> {
  const remedy = 'Install one: ollama pull qwen3:8b'
  if (installed.length === 0) return [{ what: 'Models', ok: 'warn', found: 'none installed', remedy }]
  const findings = await Promise.all(installed.slice(0, shownModels).map((model) => examineModel(url, model)))
  const left = installed.length - findings.length
  return [...findings, ...(left > 0 ? [{ what: 'Models', ok: true, found: `and ${left} more` }] : [])]
}

async function examineModel(url: string, { name, remote }: Installed): Promise<Finding> {
  const what = 'Model there'
  if (remote) return { what, ok: true, found: `${name}: runs elsewhere; used only when it is named` }
  try {
    const { showModel } = await import('../index.ts')
    const { tools, parameters } = await showModel(url, name, timeoutMs)
    const size = parameters === undefined ? '' : `, ${Number(parameters.toPrecision(2))} B parameters`
    return { what, ok: true, found: `${name}: ${tools ? 'can call tools' : 'cannot call tools'}${size}` }
  } catch (error) {
    return { what, ok: 'warn', found: `${name}: ${messageOf(error)}` }
  }
}
