import { fileURLToPath } from 'node:url'
import type { Config } from './core/config.ts'
import { type ChosenModel, chooseModel } from './models/choose-model.ts'

/** What `chooseModel` is asked for a reference; none: whatever is there. */
export function modelQuestion(ref: string | undefined, { servers }: Config, env: NodeJS.ProcessEnv) {
  return { ...(ref !== undefined && { ref }), servers, env, rehearsalPath: packageFile('examples/rehearsal.yaml') }
}

/** A file of the package, from `src/` as well as from the bundle in `dist/`: both lie one level below it. */
function packageFile(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url))
}

/** Each model is looked up once. A failed look-up is not kept: the server may come back. */
export function createModelCache(config: Config, env: NodeJS.ProcessEnv) {
  const known = new Map<string, Promise<ChosenModel>>()
  return {
    add: (chosen: ChosenModel) => void known.set(chosen.spec.profile.ref, Promise.resolve(chosen)),
    find(ref: string): Promise<ChosenModel> {
      const found = known.get(ref)
      if (found) return found
      const looked = chooseModel(modelQuestion(ref, config, env))
      known.set(ref, looked)
      looked.catch(() => known.delete(ref))
      return looked
    },
  }
}
