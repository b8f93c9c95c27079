import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { assembleTroupe } from '../../src/create-troupe.ts'
import type { RunFinished, RuntimeEvent, Troupe, TroupeOptions } from '../../src/index.ts'

/** A script as data: rules of the scripted model, see docs/scripted-models.md. */
export type Script = { model?: object; server?: object; rules: object[] }

/** A throw-away folder to work in, a data folder and a home of its own; removed after the test. */
export type Workplace = {
  /** The workspace. */
  dir: string
  dataDir: string
  /** Environment with an empty home. */
  env: NodeJS.ProcessEnv
  write(path: string, text: string): string
  script(script: Script): string
}

export function createWorkplace(files: Record<string, string> = {}): Workplace {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-test-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true, maxRetries: 5 }))
  const dir = join(base, 'work')
  const write = (path: string, text: string) => {
    const full = join(dir, path)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, text)
    return full
  }
  mkdirSync(dir)
  for (const [path, text] of Object.entries(files)) write(path, text)
  const env = { PATH: process.env.PATH, HOME: join(base, 'home'), TROUPE_HOME: join(base, 'data') }
  mkdirSync(env.HOME)
  return {
    dir,
    dataDir: env.TROUPE_HOME,
    env,
    write,
    script(script) {
      const path = join(base, `script-${Math.random().toString(36).slice(2)}.yaml`)
      writeFileSync(path, stringify(script))
      return path
    },
  }
}

/** A runtime in a workplace that plays a script, with everything that it told; closed after the test. */
export type Stage = {
  troupe: Troupe
  events: RuntimeEvent[]
  play(prompt: string, agent?: string): Promise<RunFinished>
}

export async function createStage(
  workplace: Workplace,
  script: Script | string,
  options: TroupeOptions = {},
  parts: { workerFile?: string } = {},
): Promise<Stage> {
  const model = typeof script === 'string' ? script : `scripted:${workplace.script(script)}`
  const { dir, dataDir, env } = workplace
  const troupe = await assembleTroupe({ dir, dataDir, env, model, ...options }, parts)
  const events: RuntimeEvent[] = []
  troupe.events.subscribe((event) => events.push(event))
  onTestFinished(() => troupe.close())
  return { troupe, events, play: (prompt, agent = 'lead') => troupe.run({ prompt, agent }).finished }
}

/** The events of one type, in order. */
export function ofType<Type extends RuntimeEvent['type']>(events: RuntimeEvent[], type: Type) {
  return events.filter((event): event is Extract<RuntimeEvent, { type: Type }> => event.type === type)
}
