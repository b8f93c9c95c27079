import type { Config } from './core/config.ts'
import type { RunSettings } from './core/settings.ts'
import { createSandbox, type Sandbox } from './sandbox/create-sandbox.ts'
import { probeSandbox } from './sandbox/probe-sandbox.ts'

/** The sandbox that the configuration asks for, tried out; `notes` say it when there is none. */
export type PreparedSandbox = { settings: Pick<RunSettings, 'sandbox'>; sandbox?: Sandbox; notes: string[] }

export async function prepareSandbox({ sandbox: mode, network, sandboxedCommands }: Config): Promise<PreparedSandbox> {
  if (mode === 'off') return { settings: {}, notes: [] }
  const wanted = { mode, network: network === 'on', runsUnasked: sandboxedCommands === 'allow' }
  const found = await probeSandbox()
  if ('file' in found) return { settings: { sandbox: wanted }, sandbox: createSandbox(found.file, wanted), notes: [] }
  const note = `There is no sandbox: ${found.problem}. Each command is asked about. To do without: sandbox: off.`
  return { settings: { sandbox: { ...wanted, unusable: found.problem } }, notes: [note] }
}
