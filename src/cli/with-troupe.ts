import { fileURLToPath } from 'node:url'
import type { Troupe, TroupeOptions } from '../index.ts'
import { loadLibrary } from './load-library.ts'

/** Makes a runtime, hands it out, and closes it whatever happens. */
export async function withTroupe<Result>(
  options: TroupeOptions,
  use: (troupe: Troupe) => Result | Promise<Result>,
): Promise<Result> {
  const { createTroupe } = await loadLibrary()
  const troupe = await createTroupe(options)
  try {
    return await use(troupe)
  } finally {
    await troupe.close()
  }
}

/** For commands that need no model: the script of the package stands in, so that no server is asked and none can fail. */
export function withoutModel(options: TroupeOptions): TroupeOptions {
  return { ...options, host: 'inline', model: options.model ?? `scripted:${packageFile('examples/rehearsal.yaml')}` }
}

/** A file of this package: one folder up from `dist/`, two from `src/cli/`. */
export function packageFile(path: string): string {
  return fileURLToPath(new URL(`${import.meta.url.endsWith('.ts') ? '../..' : '..'}/${path}`, import.meta.url))
}
