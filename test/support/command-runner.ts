import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { CallId, SessionId } from '../../src/core/ids.ts'
import type { CallResult } from '../../src/core/records.ts'
import { createProcesses } from '../../src/supervisor/processes.ts'
import { bytesToKeep } from '../../src/tools/bash-text.ts'
import type { ToolServices, Toolset } from '../../src/tools/define-tool.ts'
import {
  type CallOptions,
  createToolWorld,
  removeToolWorlds,
  type ToolWorld,
} from '../../src/tools/testing/tool-world.ts'
import { toolEnvironment } from '../../src/tools/tool-environment.ts'

type Args = { command: string } & Record<string, unknown>

/** The bash tool over real processes, for one test file; they are gone when it ends. */
export function createCommandRunner() {
  const processes = createProcesses()
  const session = 'tester' as SessionId
  const spilled = mkdtempSync(join(tmpdir(), 'troupe-bash-'))
  let commands = 0
  afterAll(async () => {
    await processes.close()
    await removeToolWorlds()
    rmSync(spilled, { recursive: true, force: true })
  })

  /** Runs commands as a worker does, for a runtime with this environment. */
  function service(env: NodeJS.ProcessEnv = process.env, toolset: Toolset = 'full'): ToolServices['runProcess'] {
    return async ({ signal, ...command }) => {
      const call = `c1.${++commands}` as CallId
      const cancel = () => void processes.kill(session, call)
      signal.addEventListener('abort', cancel, { once: true })
      const spillPath = join(spilled, `${call}.txt`)
      return processes.run({
        session,
        epoch: 1,
        call,
        env: toolEnvironment(env),
        keepBytes: bytesToKeep(toolset),
        spillPath,
        ...command,
      })
    }
  }

  return {
    service,
    async bash(args: Args | string, world?: ToolWorld, options: CallOptions = {}): Promise<CallResult> {
      const place = world ?? (await createToolWorld())
      const services = { runProcess: service() }
      return place.result('bash', typeof args === 'string' ? { command: args } : args, { services, ...options })
    },
  }
}
